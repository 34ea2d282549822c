"""What can happen to a member of the quorum, and what it can want done: plain values.

The messages between members are here as well, in their own terms: `translation` puts them on
Kafka's wire. A request that comes in is `Received` with a token and answered by one `Reply` with
the same token; a request that goes out is a `Send` with a number and ends in one `Answered` or
`Failed` with the same number.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct

from ottla.errors import ErrorCode
from ottla.quorum.election_state import ElectionState
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voters import Address, ReplicaKey, Voter, VoterSet
from ottla.wire.message import Message

Token = Hashable

# --- messages between members -----------------------------------------------------------------


class Vote(Struct, frozen=True):
    candidate: ReplicaKey
    epoch: int
    last_epoch: int
    end_offset: int
    pre_vote: bool
    voter: ReplicaKey | None  # whom the candidate believes to ask


class BeginEpoch(Struct, frozen=True):
    leader: int
    epoch: int
    endpoints: tuple[Address, ...]
    voter: ReplicaKey | None


class EndEpoch(Struct, frozen=True):
    leader: int
    epoch: int
    endpoints: tuple[Address, ...]
    candidates: tuple[ReplicaKey, ...]  # best first


class Fetch(Struct, frozen=True):
    replica: ReplicaKey
    epoch: int
    offset: int
    last_epoch: int  # of the record before `offset`
    high_watermark: int | None  # as far as the replica knows; None: it does not tell
    max_wait: float


class FetchSnapshot(Struct, frozen=True):
    replica: ReplicaKey
    epoch: int
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


class AddVoter(Struct, frozen=True):
    key: ReplicaKey
    endpoints: tuple[Address, ...]
    ack_when_committed: bool
    timeout: float


class RemoveVoter(Struct, frozen=True):
    key: ReplicaKey


class UpdateVoter(Struct, frozen=True):
    epoch: int
    voter: Voter


class AskFeatures(Struct, frozen=True):
    """ApiVersions: which kraft.version a voter to be can live with."""


Request = (
    Vote
    | BeginEpoch
    | EndEpoch
    | Fetch
    | FetchSnapshot
    | AddVoter
    | RemoveVoter
    | UpdateVoter
    | AskFeatures
)


class Known(Struct, frozen=True):
    """What every response tells: who leads, as far as its sender knows."""

    error: ErrorCode
    epoch: int
    leader: int | None
    address: tuple[str, int] | None = None
    detail: str | None = None


class VoteReply(Struct, frozen=True):
    known: Known
    granted: bool


class EpochReply(Struct, frozen=True):
    """The answer to BeginEpoch, EndEpoch, and changes of voters."""

    known: Known


class Divergence(Struct, frozen=True):
    """Where the leader's log leaves the replica's: the end of the largest epoch it can share."""

    epoch: int
    end_offset: int


class Batch(Struct, frozen=True):
    """A batch as the machine sees it; the bytes are not for it."""

    base_offset: int
    next_offset: int
    epoch: int
    voters: VoterSet | None = None
    kraft_version: int | None = None


class FetchReply(Struct, frozen=True):
    known: Known
    high_watermark: int | None = None
    diverging: Divergence | None = None
    snapshot_id: SnapshotId | None = None
    batches: tuple[Batch, ...] = ()
    records: bytes = b""


class SnapshotReply(Struct, frozen=True):
    known: Known
    snapshot_id: SnapshotId = SnapshotId(-1, -1)
    size: int = 0
    position: int = 0
    data: bytes = b""


class FeaturesReply(Struct, frozen=True):
    kraft_versions: tuple[int, int]


Response = VoteReply | EpochReply | FetchReply | SnapshotReply | FeaturesReply

# --- events -----------------------------------------------------------------------------------


class Tick(Struct, frozen=True):
    """Time has passed."""


class Received(Struct, frozen=True):
    token: Token
    request: Request


class Answered(Struct, frozen=True):
    number: int
    response: Response


class Failed(Struct, frozen=True):
    """A request that will not be answered; `refused`: nobody listens where it went."""

    number: int
    refused: bool = False


class Disconnected(Struct, frozen=True):
    """A connection to this node was closed from its side: its process is probably dead."""

    node: int


class Propose(Struct, frozen=True):
    """Append these as one batch; only while leading."""

    values: Sequence[bytes]


class Flushed(Struct, frozen=True):
    """What a `Flush` asked for is on disk."""

    generation: int
    end_offset: int


class SnapshotTaken(Struct, frozen=True):
    """A snapshot of committed state was written here, and the log may have lost its beginning."""

    snapshot_id: SnapshotId
    start_offset: int


class Resign(Struct, frozen=True):
    """Stop leading, if that is what we do; `for_good`: and do not stand again."""

    for_good: bool = False


Event = (
    Tick | Received | Answered | Failed | Disconnected | Propose | Flushed | SnapshotTaken | Resign
)

# --- effects: performed in order --------------------------------------------------------------


class Persist(Struct, frozen=True):
    """Durable before anything after it is done."""

    election: ElectionState
    kraft_version: int
    voters: tuple[int, ...]


class Append(Struct, frozen=True):
    base_offset: int
    epoch: int
    values: Sequence[bytes]


class AppendControl(Struct, frozen=True):
    base_offset: int
    epoch: int
    records: Sequence[Message]


class AppendFetched(Struct, frozen=True):
    records: bytes


class Truncate(Struct, frozen=True):
    offset: int


class InstallSnapshot(Struct, frozen=True):
    """Keep a leader's snapshot and begin the log, and the state, anew from it."""

    snapshot_id: SnapshotId
    data: bytes


class Flush(Struct, frozen=True):
    """Sync the log, then say `Flushed` with these; one under way may be shared."""

    generation: int
    end_offset: int


class Send(Struct, frozen=True):
    number: int
    node: int | None  # None: a bootstrap server, whoever that is
    address: tuple[str, int]
    request: Request
    timeout: float


class Reply(Struct, frozen=True):
    token: Token
    response: Response


class ReplyRecords(Struct, frozen=True):
    """Reply with what the log holds from `offset` on."""

    token: Token
    response: FetchReply
    offset: int


class ReplySnapshot(Struct, frozen=True):
    """Reply with a part of a snapshot, or that there is none of that id."""

    token: Token
    response: SnapshotReply
    max_bytes: int


class Commit(Struct, frozen=True):
    """Everything below is committed: tell the listener, resolve who waits."""

    high_watermark: int


class LeaderChanged(Struct, frozen=True):
    """Tell the listener; of ourselves only once all that went before is committed."""

    leader: int | None
    epoch: int


Effect = (
    Persist
    | Append
    | AppendControl
    | AppendFetched
    | Truncate
    | InstallSnapshot
    | Flush
    | Send
    | Reply
    | ReplyRecords
    | ReplySnapshot
    | Commit
    | LeaderChanged
)
