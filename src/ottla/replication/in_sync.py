"""High watermark and in-sync set of one led partition.

Pure: told of appends, fetches, the controller's word and time, answers with effects. Bytes live
in `log`; asking the controller is the driver's part.

A record is committed once every replica in the *maximal* set has it: the set the controller
committed, together with the one proposed to it, so that neither answer can lose a record. While
fewer replicas than `min.insync.replicas` are in sync nothing new is committed (KIP-966).
"""

from collections.abc import Iterable
from typing import NamedTuple

UNKNOWN = -1
NEVER = float("-inf")


class Advance(NamedTuple):
    """Everything below is committed."""

    high_watermark: int


class ProposeInSync(NamedTuple):
    """Ask the controller for this set; `committed` or `refused` has to follow."""

    in_sync: frozenset[int]


class Trimmed(NamedTuple):
    """The log of a follower begins elsewhere than it did."""


Effect = Advance | ProposeInSync | Trimmed


class RemoteReplica:
    """What the leader knows of another replica, from its fetches alone."""

    __slots__ = (
        "broker_epoch",
        "caught_up_at",
        "end_offset",
        "fetched_at",
        "leader_end_offset",
        "log_start_offset",
    )

    def __init__(self, now: float, *, in_sync: bool) -> None:
        self.end_offset = UNKNOWN
        """<= the follower's log end: what it asked for last, so all below is in its log, and on
        its disk where `flush.messages` wants that. Only fetches move it, and not always forward:
        a follower that was cut asks from further back. UNKNOWN until it fetched in this epoch."""
        self.log_start_offset = UNKNOWN
        """Where its log began at its last fetch; deleting records waits for it."""
        self.broker_epoch = UNKNOWN
        """The life of the broker that fetched last: the one a proposal vouches for (KIP-903)."""
        self.caught_up_at = now if in_sync else NEVER
        """The latest moment of which it is known to have by now all that the leader had then. Moves
        forward with fetches; NEVER while the controller would not have it in sync. A replica that
        was in sync when this leadership began has until `lag_s_max` to show itself."""
        self.fetched_at = NEVER
        """When it fetched last, whatever it asked for; NEVER before its first fetch."""
        self.leader_end_offset = UNKNOWN
        """The leader's log end at `fetched_at`: who asks from there on next was caught up then."""

    def fetched(self, now: float, offset: int, leader_end_offset: int) -> None:
        if offset >= leader_end_offset:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self.leader_end_offset != UNKNOWN:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.end_offset = offset
        self.fetched_at = now
        self.leader_end_offset = leader_end_offset


class InSync:
    def __init__(
        self,
        now: float,
        *,
        node_id: int,
        replicas: Iterable[int],
        in_sync: Iterable[int],
        end_offset: int,
        high_watermark: int,
        min_in_sync: int,
        lag_s_max: float,
    ) -> None:
        self.node_id = node_id
        """The leader: in every set, never among the followers."""
        self.committed = frozenset(in_sync)
        """The ISR by the controller's last word. Only `decided` changes it."""
        self.proposed: frozenset[int] | None = None
        """What the controller was asked for and may have taken: as long as it is not None nothing
        else is proposed, and whoever is in it counts for the high watermark as well."""
        self.end_offset = end_offset
        """The leader's log end, always; >= high_watermark."""
        self.epoch_start = end_offset
        """Where this leadership began: a follower joins only beyond it, for what its predecessor
        committed may lie above the high watermark that is known here. Never changes."""
        self.high_watermark = high_watermark
        """<= the log end of every replica in `maximal`. Never goes back, and stands still under
        min ISR."""
        self.min_in_sync = min_in_sync
        """`min.insync.replicas`; counts as the number of replicas where those are fewer."""
        self.lag_s_max = lag_s_max
        """`replica.lag.time.max.ms`: who was not caught up for longer leaves the set."""
        self.followers = {
            replica: RemoteReplica(now, in_sync=replica in self.committed)
            for replica in replicas
            if replica != node_id
        }
        """Every other replica, in sync or not, and nobody else: only `decided` adds or removes."""
        self._settle()

    @property
    def maximal(self) -> frozenset[int]:
        """Kafka's maximal ISR: >= what the controller holds, whichever way it decides."""
        return self.committed if self.proposed is None else self.committed | self.proposed

    @property
    def is_under_min(self) -> bool:
        return len(self.committed) < min(self.min_in_sync, len(self.followers) + 1)

    def is_silent(self, now: float, seconds: float) -> bool:
        """Whether there are followers, and none has fetched for so long."""
        followers = self.followers.values()
        return bool(followers) and all(one.fetched_at < now - seconds for one in followers)

    def is_heard(self, now: float, seconds: float) -> bool:
        """Whether a follower in sync has fetched within the time, if there is any: when one of
        them leads in this one's place, the others follow that."""
        others = [self.followers[each] for each in self.committed if each in self.followers]
        return not others or any(one.fetched_at >= now - seconds for one in others)

    # Events ----------------------------------------------------------------------------------

    def appended(self, now: float, end_offset: int) -> int | None:
        """The leader's log has grown; the new high watermark, if that moved it."""
        self.end_offset = end_offset
        if self.alone:
            self.high_watermark = end_offset
            return end_offset
        return self._advanced(now)

    def fetched(
        self,
        now: float,
        replica: int,
        offset: int,
        *,
        log_start_offset: int = UNKNOWN,
        broker_epoch: int,
        eligible: bool,
    ) -> list[Effect]:
        """A follower has everything below `offset`, from where its log starts. `eligible`: its
        broker may be in sync."""
        follower = self.followers.get(replica)
        if follower is None:
            return []
        follower.broker_epoch = broker_epoch
        follower.fetched(now, offset, self.end_offset)
        if not eligible:
            follower.caught_up_at = NEVER
        effects = self._advance(now)
        if self.proposed is None and eligible and self._may_join(replica, follower):
            effects.append(self._propose(self.committed | {replica}))
        if follower.log_start_offset != log_start_offset:
            follower.log_start_offset = log_start_offset
            effects.append(Trimmed())
        return effects

    def fetched_again(self, now: float, replica: int, *, broker_epoch: int) -> bool:
        """A follower in the set that had everything asks for more: nothing but time has changed.
        False where that is not so, and `fetched` must be told."""
        follower = self.followers.get(replica)
        if (
            follower is None
            or replica not in self.committed
            or self.proposed is not None
            or follower.broker_epoch != broker_epoch
            or not follower.end_offset == self.end_offset == self.high_watermark
        ):
            return False
        follower.fetched(now, self.end_offset, self.end_offset)
        return True

    def tick(self, now: float) -> list[Effect]:
        """Followers that lag for too long leave the set."""
        if self.proposed is not None:
            return []
        lagging = {
            replica
            for replica in self.committed
            if replica in self.followers and not self._is_caught_up(self.followers[replica], now)
        }
        return [self._propose(self.committed - lagging)] if lagging else []

    def decided(self, now: float, replicas: Iterable[int], in_sync: Iterable[int]) -> list[Effect]:
        """The controller's word, asked for or not."""
        dropped = self.maximal.difference(in_sync)
        self._wait_no_longer_for(dropped)
        self.committed, self.proposed = frozenset(in_sync), None
        others = [replica for replica in replicas if replica != self.node_id]
        self.followers = {
            replica: self.followers.get(replica)
            or RemoteReplica(now, in_sync=replica in self.committed)
            for replica in others
        }
        self._settle()
        return self._advance(now)

    def refused(self, now: float) -> list[Effect]:
        """The proposal did not pass; another may be made."""
        self._wait_no_longer_for(self.maximal - self.committed)
        self.proposed = None
        return self._advance(now)

    def require(self, now: float, min_in_sync: int) -> list[Effect]:
        """`min.insync.replicas` was changed."""
        self.min_in_sync = min_in_sync
        self._settle()
        return self._advance(now)

    # Inside ----------------------------------------------------------------------------------

    def _settle(self) -> None:
        self.alone = not self.followers and not self.is_under_min
        """No other replica: an append commits itself. Follows from the others; kept for speed."""

    def _wait_no_longer_for(self, replicas: frozenset[int]) -> None:
        """Who is caught up is waited for even outside the set, so that it can join it. Not so
        whom the controller does not want there: its broker may be dead."""
        for replica in replicas:
            if replica in self.followers:
                self.followers[replica].caught_up_at = NEVER

    def _advance(self, now: float) -> list[Effect]:
        moved = self._advanced(now)
        return [] if moved is None else [Advance(moved)]

    def _advanced(self, now: float) -> int | None:
        if self.is_under_min:
            return None
        maximal, least = self.maximal, self.end_offset
        for replica, follower in self.followers.items():
            counts = replica in maximal or self._is_caught_up(follower, now)
            if counts and follower.end_offset < least:
                least = follower.end_offset
        if least <= self.high_watermark:
            return None
        self.high_watermark = least
        return least

    def _is_caught_up(self, follower: RemoteReplica, now: float) -> bool:
        return (
            follower.end_offset == self.end_offset or now - follower.caught_up_at <= self.lag_s_max
        )

    def _may_join(self, replica: int, follower: RemoteReplica) -> bool:
        return replica not in self.committed and follower.end_offset >= max(
            self.high_watermark, self.epoch_start
        )

    def _propose(self, in_sync: frozenset[int]) -> ProposeInSync:
        self.proposed = in_sync
        return ProposeInSync(in_sync)
