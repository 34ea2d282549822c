"""The roles a member can play, as data, and which may follow on which.

A role says what its player waits for; what it does is in `elections`, `leading`, `following`.
Epoch, vote and leader are not here: they outlive roles and crashes (`ElectionState`).
"""

from msgspec import Struct, field

from ottla.quorum.events import AddVoter, Fetch, RemoveVoter, Token
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voters import ReplicaKey


class UnattachedState(Struct):
    """Knows no leader of this epoch. A voter stands at the deadline; all look for a leader."""

    deadline: float


class ProspectiveState(Struct):
    """Asks whether others would vote for it, without a new epoch: a node that was cut off
    disturbs nobody when it comes back."""

    deadline: float
    granted: set[int]
    refused: set[int] = field(default_factory=set)
    unreachable: set[int] = field(default_factory=set)
    retries: int = 0
    is_lost: bool = False  # no majority is left: the deadline is that of the next try


class CandidateState(Struct):
    """Stands in an epoch of its own."""

    deadline: float
    granted: set[int]
    refused: set[int] = field(default_factory=set)
    unreachable: set[int] = field(default_factory=set)
    retries: int = 0
    is_lost: bool = False  # no majority is left: the deadline is that of the next try


class Download(Struct):
    """A snapshot on its way from the leader."""

    snapshot_id: SnapshotId
    data: bytearray = field(default_factory=bytearray)


class FollowerState(Struct):
    leader: int
    address: tuple[str, int]
    deadline: float  # without a fetch until then the leader counts as lost
    has_fetched: bool = False
    suspects: bool = False  # the leader's connection closed, or it resigned
    download: Download | None = None
    update_voter_at: float = 0.0
    told: int = -1  # the high watermark the leader told, which our synced log may not reach yet


class Progress(Struct):
    """How far another replica is, as its leader sees it."""

    key: ReplicaKey
    end_offset: int = -1
    fetched_at: float | None = None
    caught_up_at: float | None = None


class Parked(Struct):
    """A fetch that waits for something to tell."""

    token: Token
    fetch: Fetch
    deadline: float


class VoterChange(Struct):
    """The one change of voters under way; `offset` is that of its record, once written."""

    token: Token | None
    request: AddVoter | RemoveVoter
    deadline: float
    number: int = -1  # of the question for features
    offset: int | None = None


class LeaderState(Struct):
    epoch_start: int
    granted: set[int]
    check_quorum_at: float
    begin_at: float  # when to tell voters again who leads
    progress: dict[ReplicaKey, Progress] = field(default_factory=dict)
    fetched: set[int] = field(default_factory=set)  # voters heard of since the last full round
    parked: list[Parked] = field(default_factory=list)
    change: VoterChange | None = None
    announced: bool = False  # all of earlier epochs is committed, the listener knows


class ResignedState(Struct):
    """Led this epoch and does no more; tells the others, best successor first."""

    deadline: float
    unaware: set[int]
    candidates: tuple[ReplicaKey, ...]
    for_good: bool = False


Role = (
    UnattachedState
    | ProspectiveState
    | CandidateState
    | FollowerState
    | LeaderState
    | ResignedState
)

MAY_BECOME: dict[type[Role], tuple[type[Role], ...]] = {
    UnattachedState: (UnattachedState, ProspectiveState, FollowerState),
    ProspectiveState: (UnattachedState, ProspectiveState, CandidateState, FollowerState),
    CandidateState: (UnattachedState, ProspectiveState, FollowerState, LeaderState),
    FollowerState: (UnattachedState, ProspectiveState, FollowerState),
    LeaderState: (UnattachedState, FollowerState, ResignedState),
    ResignedState: (UnattachedState, ProspectiveState, FollowerState),
}
