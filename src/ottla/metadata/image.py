"""The image: all that the cluster's metadata log adds up to at one offset.

The leaves (`Partition`, `Broker`, `Acl`…) are immutable and may be kept by anyone; the
image around them is changed in place, by `metadata.apply` only, so that creating a thousand
partitions costs a thousand small steps. Whoever needs to know what changed gets a `Delta`.
Readers on the event loop always see a whole batch of records or nothing of it.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from msgspec import Struct, field

from ottla.ids import LOST_DIRECTORY, UNASSIGNED_DIRECTORY, ZERO_UUID, Uuid
from ottla.metadata.records import Record

NO_LEADER = -1
RECOVERED, RECOVERING = 0, 1
"""Recovering: the leader was elected although it may lack records (an unclean election)."""


class ConfigResourceType(IntEnum):
    """What a configuration belongs to; the numbers are those of ConfigRecord."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


ConfigKey = tuple[int, str]
"""Resource type and name; the broker with the empty name stands for all brokers."""

CLUSTER_DEFAULTS: ConfigKey = (ConfigResourceType.BROKER, "")


class PartitionRegistration(Struct, frozen=True, gc=False):
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    directories: tuple[Uuid, ...] = ()  # one for each replica
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: out of the ISR, yet known to hold all that was committed."""
    last_known_elr: tuple[int, ...] = ()
    """Who could have led last; used when nobody is eligible any more."""
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED

    @property
    def preferred(self) -> int:
        return self.replicas[0]

    @property
    def reassigning(self) -> bool:
        return bool(self.removing or self.adding)

    def directory(self, broker: int) -> Uuid:
        return self.directories[self.replicas.index(broker)]


class Topic:
    """A topic and its partitions by index."""

    __slots__ = ("id", "name", "partitions")

    def __init__(
        self, id: Uuid, name: str, partitions: Mapping[int, PartitionRegistration] | None = None
    ) -> None:
        self.id = id
        self.name = name
        self.partitions: dict[int, PartitionRegistration] = dict(partitions or {})

    def __repr__(self) -> str:
        return f"Topic({self.name!r}, {len(self.partitions)} partitions)"


class Endpoint(Struct, frozen=True):
    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(Struct, frozen=True):
    id: int
    epoch: int
    incarnation: Uuid
    listeners: tuple[Endpoint, ...] = ()
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned: tuple[Uuid, ...] | None = None

    @property
    def active(self) -> bool:
        """May be in an in-sync set and lead."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_new_replicas(self) -> bool:
        """Unless each of its directories is cordoned."""
        return not self.directories or not set(self.directories) <= set(self.cordoned or ())

    def listener(self, name: str) -> Endpoint | None:
        return next((one for one in self.listeners if one.name == name), None)

    def holds(self, directory: Uuid) -> bool:
        """Whether a replica said to be in `directory` can be online here."""
        if directory in self.directories:
            return True
        return directory in _NOT_KNOWN_YET or (not self.directories and directory != LOST_DIRECTORY)

    def directory_for_new_replica(self) -> Uuid:
        """With several directories the broker chooses, and tells the controller later."""
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED_DIRECTORY


_NOT_KNOWN_YET = (UNASSIGNED_DIRECTORY, ZERO_UUID)


class ControllerRegistration(Struct, frozen=True):
    """A controller as it registered itself (only quorums with dynamic voters do)."""

    id: int
    incarnation: Uuid
    listeners: tuple[Endpoint, ...] = ()
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    zk_migration_ready: bool = False


class Acl(Struct, frozen=True):
    """One rule: who may, or may not, do what with which resources, from where."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class ScramCredential(Struct, frozen=True):
    """What proves a password without holding it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class DelegationToken(Struct, frozen=True):
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    expires_ms: int


QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types, in their order, with names: a user, a client id, an address; None: the default."""


class Image:
    """Everything at `offset` (the last record applied; -1: none)."""

    __slots__ = (
        "acls",
        "brokers",
        "client_quotas",
        "configs",
        "controllers",
        "delegation_tokens",
        "epoch",
        "features",
        "next_producer_id",
        "offset",
        "scram_credentials",
        "topics_by_id",
        "topics_by_name",
        "unknown",
        "zk_migration_state",
    )

    def __init__(self) -> None:
        self.offset = -1
        self.epoch = -1
        self.topics_by_id: dict[Uuid, Topic] = {}
        self.topics_by_name: dict[str, Topic] = {}
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.configs: dict[ConfigKey, Mapping[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.acls: dict[Uuid, Acl] = {}
        self.scram_credentials: dict[tuple[str, int], ScramCredential] = {}  # by user, mechanism
        self.client_quotas: dict[QuotaEntity, Mapping[str, float]] = {}
        # Not served yet, and never lost:
        self.delegation_tokens: dict[str, DelegationToken] = {}
        self.zk_migration_state: int | None = None
        self.unknown: list[Record] = []

    def copy(self) -> "Image":
        """One that can be changed without this one noticing; leaves are shared."""
        other = Image()
        other.offset, other.epoch = self.offset, self.epoch
        for topic in self.topics_by_id.values():
            twin = Topic(topic.id, topic.name, topic.partitions)
            other.topics_by_id[topic.id] = other.topics_by_name[topic.name] = twin
        other.brokers = dict(self.brokers)
        other.controllers = dict(self.controllers)
        other.configs = dict(self.configs)
        other.features = dict(self.features)
        other.next_producer_id = self.next_producer_id
        other.client_quotas = dict(self.client_quotas)
        other.acls = dict(self.acls)
        other.scram_credentials = dict(self.scram_credentials)
        other.delegation_tokens = dict(self.delegation_tokens)
        other.zk_migration_state = self.zk_migration_state
        other.unknown = list(self.unknown)
        return other

    def topic(self, name: str) -> Topic | None:
        return self.topics_by_name.get(name)

    def config(self, kind: int, name: str) -> Mapping[str, str]:
        """What was set for this very resource; defaults and synonyms are `ottla.config`'s."""
        return self.configs.get((kind, name), _NOTHING)

    def partition(self, topic: str, index: int) -> PartitionRegistration | None:
        found = self.topics_by_name.get(topic)
        return found.partitions.get(index) if found else None

    def active_brokers(self) -> Iterable[BrokerRegistration]:
        return (broker for broker in self.brokers.values() if broker.active)

    @property
    def metadata_version(self) -> int:
        return self.features.get("metadata.version", 0)

    @property
    def elr_enabled(self) -> bool:
        return self.features.get("eligible.leader.replicas.version", 0) > 0


_NOTHING: Mapping[str, str] = {}


class Delta:
    """What a batch (or a snapshot) changed, each entry with the state before it."""

    __slots__ = (
        "access",
        "brokers",
        "configs",
        "features",
        "partitions",
        "quotas",
        "topics_added",
        "topics_removed",
    )

    def __init__(self) -> None:
        self.topics_added: dict[Uuid, Topic] = {}
        self.topics_removed: dict[Uuid, Topic] = {}
        """Removed topics as they were; their partitions are not in `partitions`."""
        self.partitions: dict[tuple[Uuid, int], PartitionRegistration | None] = {}
        """New and changed partitions, with what they were before (None: new)."""
        self.configs: set[ConfigKey] = set()
        self.brokers: dict[int, BrokerRegistration | None] = {}
        self.features = False
        self.access = False  # access rules, users' credentials, tokens
        self.quotas = False

    def __bool__(self) -> bool:
        return bool(
            self.topics_added
            or self.topics_removed
            or self.partitions
            or self.configs
            or self.brokers
            or self.features
            or self.access
            or self.quotas
        )
