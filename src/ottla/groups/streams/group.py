"""A streams group: its topology, members and tasks. Changed by `records.apply` only.

What stands below "soft" is for the answers of this coordinator; a restart forgets it.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NoReturn, TypeAlias

from msgspec import Struct

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.streams.topics import Configured
from ottla.groups.streams.topology import StreamsTopology

Task: TypeAlias = tuple[str, int]
"""A subtopology and a partition of it."""
TaskSet: TypeAlias = frozenset[Task]

JOINING, LEAVING, LEAVING_STATIC = 0, -1, -2
"""Member epochs with a meaning of their own."""
FIRST_EPOCH = 1
NO_TASKS: TaskSet = frozenset()


class Tasks(Struct, frozen=True):
    """What somebody has, should have or gives up, by role."""

    active: TaskSet = NO_TASKS
    standby: TaskSet = NO_TASKS
    warmup: TaskSet = NO_TASKS

    def __iter__(self) -> Iterator[TaskSet]:
        return iter((self.active, self.standby, self.warmup))

    def __bool__(self) -> bool:
        return any(self)

    def overlaps(self, other: "Tasks") -> bool:
        return any(not mine.isdisjoint(theirs) for mine, theirs in zip(self, other, strict=True))

    def is_part_of(self, other: "Tasks") -> bool:
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


NOTHING = Tasks()


class StreamsMemberState(IntEnum):
    """The numbers are those of the records; they are not those of consumer groups."""

    STABLE = 1
    UNREVOKED_TASKS = 2  # it has to give up some first
    UNRELEASED_TASKS = 3  # it waits for others to give up some
    UNKNOWN = 127


class StreamsGroupMember(Struct, frozen=True, kw_only=True):
    id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: tuple[str, int] | None = None  # where its state can be queried
    tags: Mapping[str, str] = {}
    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    held: Tasks = NOTHING
    revoking: Tasks = NOTHING
    since: Mapping[Task, int] = {}  # of active tasks: the epoch in which it got them

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is StreamsMemberState.STABLE and self.epoch == target_epoch


class StreamsGroup:
    __slots__ = (
        "assigned_at_ms",
        "assignment_epoch",
        "configs",
        "configured",
        "endpoint_epoch",
        "epoch",
        "id",
        "members",
        "metadata_hash",
        "shutdown_by",
        "targets",
        "topics_seen",
        "topology",
        "validated_epoch",
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_epoch = -1  # of the topology whose topics were found in order
        self.configs: Mapping[str, str] = {}  # by which the last target was made
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.topology: StreamsTopology | None = None
        self.members: dict[str, StreamsGroupMember] = {}
        self.targets: dict[str, Tasks] = {}
        # soft
        self.configured: Configured | None = None
        self.topics_seen = -1  # the version of the metadata that was looked at
        self.endpoint_epoch = 0
        self.shutdown_by: str | None = None

    def copy(self) -> "StreamsGroup":
        twin = StreamsGroup(self.id)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.members, twin.targets = dict(self.members), dict(self.targets)
        return twin

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        """As clients are shown it."""
        if not self.members:
            return "Empty"
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        reconciled = all(
            member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()
        )
        return "Stable" if reconciled else "Reconciling"

    def waiting_for(self) -> list[str]:
        """Who has not reached the target; those who hold others up before those who wait."""
        behind = [m for m in self.members.values() if not m.is_reconciled_to(self.assignment_epoch)]
        holding = [m for m in behind if m.state is not StreamsMemberState.UNRELEASED_TASKS]
        return [member.id for member in holding or behind]

    def is_subscribed_to(self, topic: str) -> bool:
        """An empty group reads nothing: its offsets may expire."""
        if self.is_empty or self.topology is None:
            return False
        return self.topology.reader_of(topic) is not None

    def member(self, member_id: str) -> StreamsGroupMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.id}.",
            )
        return member

    def taken(self, member: StreamsGroupMember) -> tuple[TaskSet, TaskSet]:
        """Tasks that `member` cannot get yet: as active ones, and in the other roles.

        A task is active once in the group, and in a process once in any role, counting what
        is still being given up: what the member itself has given up just now it gets again with
        its next heartbeat.
        """
        active: set[Task] = set()
        in_process: set[Task] = set()
        for other in self.members.values():
            active |= other.held.active | other.revoking.active
            if other.process_id == member.process_id:
                in_process.update(*other.held, *other.revoking)
        return frozenset(active | in_process), frozenset(in_process)


def no_streams_group(group_id: str) -> NoReturn:
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
