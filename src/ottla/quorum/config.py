"""What a node must know to take part in the quorum. Where it is written is `ottla.config`'s."""

from pathlib import Path

from msgspec import Struct, field

from ottla.ids import Uuid
from ottla.quorum.voters import Address, ReplicaKey, VoterSet


class QuorumConfig(Struct, frozen=True, kw_only=True):
    """Times are in seconds; the defaults are Kafka's."""

    node_id: int
    cluster_id: str
    directory_id: Uuid
    log_dir: Path  # metadata.log.dir
    static_voters: VoterSet = field(default_factory=VoterSet)  # controller.quorum.voters, if any
    bootstrap_servers: tuple[tuple[str, int], ...] = ()  # controller.quorum.bootstrap.servers
    endpoints: tuple[Address, ...] = ()  # our own controller listeners, as others reach them
    listeners: tuple[str, ...] = ()  # controller.listener.names: by the first others are reached
    is_controller: bool = True  # process.roles has controller: may vote and lead
    auto_join: bool = False  # controller.quorum.auto.join.enable
    election_timeout: float = 1.0
    election_backoff_max: float = 1.0
    fetch_timeout: float = 2.0
    fetch_wait: float = 0.5  # of a follower at the leader, for something new
    request_timeout: float = 2.0
    retry_backoff: float = 0.02
    segment_bytes: int = 1 << 30  # metadata.log.segment.bytes

    def place(self, endpoints: tuple[Address, ...]) -> tuple[str, int] | None:
        """Where a node is for us: at the listener whose protocol we speak, if it has several."""
        wanted = self.listeners[:1]
        for one in (*(one for one in endpoints if (one.listener,) == wanted), *endpoints):
            return one.host, one.port
        return None

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)
