"""This node as a member of the quorum: what its settings mean there."""

from collections.abc import Sequence

from ottla.config import Settings
from ottla.config.topology import EVERYWHERE, Listener, Topology
from ottla.node.formatting import Identity
from ottla.ports.network import own_name
from ottla.quorum.config import QuorumConfig
from ottla.quorum.voters import Address, VoterSet


def quorum_config(
    settings: Settings,
    identity: Identity,
    controllers: Sequence[Listener],
    fetch_wait_s: float,
) -> QuorumConfig:
    """`controllers` are our own listeners, as others reach them."""
    topology = settings.topology

    def seconds(name: str) -> float:
        return settings.int(f"controller.quorum.{name}.ms") / 1000

    return QuorumConfig(
        node_id=topology.node_id,
        cluster_id=identity.cluster_id,
        directory_id=identity.metadata_directory_id,
        log_dir=topology.metadata_dir,
        static_voters=VoterSet.static(
            (voter.node_id, Address(topology.controller_names[0].upper(), voter.host, voter.port))
            for voter in topology.voters
        ),
        bootstrap_servers=topology.bootstrap_controllers,
        endpoints=tuple(Address(each.name, each.host, each.port) for each in controllers),
        listeners=tuple(name.upper() for name in topology.controller_names),
        is_controller=topology.is_controller,
        auto_join=settings.flag("controller.quorum.auto.join.enable"),
        election_timeout=seconds("election.timeout"),
        election_backoff_max=seconds("election.backoff.max"),
        fetch_timeout=seconds("fetch.timeout"),
        fetch_wait=fetch_wait_s,
        request_timeout=seconds("request.timeout"),
        retry_backoff=seconds("retry.backoff"),
        segment_bytes=settings.int("metadata.log.segment.bytes"),
    )


def other_controllers(topology: Topology) -> list[tuple[str, int]]:
    """Where the other nodes of the quorum are; among those to begin with may be this one."""
    if not topology.voters:
        return list(topology.bootstrap_controllers)
    return [(one.host, one.port) for one in topology.voters if one.node_id != topology.node_id]


def reachable(listener: Listener) -> Listener:
    """As others reach it: a listener on all interfaces goes by the name of the host."""
    return listener._replace(host=own_name()) if listener.host in EVERYWHERE else listener


def reachable_controller(listener: Listener, topology: Topology) -> Listener:
    """Where the voters say, if they do."""
    for voter in topology.voters:
        if voter.node_id == topology.node_id and voter.port == listener.port:
            return listener._replace(host=voter.host)
    return reachable(listener)
