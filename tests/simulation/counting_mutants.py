"""Bugs of who counts: replicas that join an in-sync set too early, leaders of the past that are
still believed, requests that are taken twice. Each is put back on purpose, as in cluster_mutants.
"""

from collections.abc import Callable

import pytest

from ottla.broker.cluster_view import ClusterView
from ottla.broker.fetching.operation import FetchOperation
from ottla.broker.fetching.response import Fetched
from ottla.broker.fetching.sessions import CachedPartition
from ottla.broker.producing.operation import ProduceOperation
from ottla.broker.producing.response import ProduceOutcome
from ottla.controller import in_sync as controller_in_sync
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode, KafkaError
from ottla.log.producers import ProducerStates
from ottla.metadata.image import PartitionRegistration
from ottla.replication import follower as following
from ottla.replication.follower import FollowedPartition, Verdict
from ottla.replication.in_sync import InSync, RemoteReplica
from ottla.replication.leader import Leader
from ottla.wire.messages.alter_partition import BrokerState, RequestPartitionData
from ottla.wire.messages.fetch import PartitionData

Mutant = Callable[[pytest.MonkeyPatch], None]


def the_controller_takes_any_incarnation(patch: pytest.MonkeyPatch) -> None:
    """4, KIP-903: a broker that was emptied meanwhile joins by what it had before."""

    def eligible(rules: PartitionRules, wanted: BrokerState) -> bool:
        broker = rules.image.brokers.get(wanted.broker_id)
        return broker is not None and broker.active

    patch.setattr(controller_in_sync, "_eligible", eligible)


def leaders_and_controllers_take_any_incarnation(patch: pytest.MonkeyPatch) -> None:
    """4, KIP-903: neither the fetch nor the change of the set is tied to a life."""

    def may_be_in_sync(self: ClusterView, replica: int, broker_epoch: int) -> bool:
        broker = self.image.brokers.get(replica)
        return broker is not None and broker.active

    patch.setattr(ClusterView, "may_be_in_sync", may_be_in_sync)
    the_controller_takes_any_incarnation(patch)


def whoever_fetches_is_in_sync(patch: pytest.MonkeyPatch) -> None:
    """A replica joins before it has what is committed."""

    def may_join(self: InSync, replica: int, follower: RemoteReplica) -> bool:
        return replica not in self.committed

    patch.setattr(InSync, "_may_join", may_join)


def a_new_leader_lets_join_by_its_own_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """What its predecessor committed may be beyond it: a follower joins only where the epoch
    began."""

    def may_join(self: InSync, replica: int, follower: RemoteReplica) -> bool:
        return replica not in self.committed and follower.end_offset >= self.high_watermark

    patch.setattr(InSync, "_may_join", may_join)


def who_joins_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    """Records are committed without the one that the controller may count already."""

    def advanced(self: InSync, now: float) -> int | None:
        if self.is_under_min:
            return None
        ends = [self.followers[one].end_offset for one in self.committed if one in self.followers]
        least = min([self.end_offset, *ends])
        if least <= self.high_watermark:
            return None
        self.high_watermark = least
        return least

    patch.setattr(InSync, "_advanced", advanced)


def a_leader_of_the_past_changes_the_in_sync_set(patch: pytest.MonkeyPatch) -> None:
    """No epoch is looked at when a leader asks for another set."""

    def check(
        rules: PartitionRules,
        broker_id: int,
        partition: PartitionRegistration | None,
        ask: RequestPartitionData,
        wanted: list[BrokerState],
    ) -> ErrorCode | None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else None

    patch.setattr(controller_in_sync, "_check", check)


def a_deposed_leader_acknowledges(patch: pytest.MonkeyPatch) -> None:
    """3: whoever waits for an offset is told when it is committed, whoever's record is there."""
    right = ProduceOperation._notice_change

    def notice(self: ProduceOperation, outcome: ProduceOutcome, expired: bool) -> None:
        leader = outcome.leader
        deposed = leader is not None and leader.deposed
        if leader is not None and deposed:
            leader.deposed = False
        try:
            right(self, outcome, expired)
        finally:
            if leader is not None:
                leader.deposed = deposed

    patch.setattr(ProduceOperation, "_notice_change", notice)


def a_leader_answers_followers_of_any_epoch(patch: pytest.MonkeyPatch) -> None:
    """3, KIP-320: two leaders, and each is followed."""
    patch.setattr(Leader, "check_epoch", lambda self, current_leader_epoch: None)


def followers_take_what_they_have_for_committed(patch: pytest.MonkeyPatch) -> None:
    """10, KIP-392: a consumer near a follower reads what is cut later."""
    right = FollowedPartition.took

    def took(self: FollowedPartition, data: PartitionData, now_ms: int) -> Verdict:
        data.high_watermark = 1 << 40
        return right(self, data, now_ms)

    patch.setattr(following.FollowedPartition, "took", took)


def a_follower_that_lags_sends_readers_away(patch: pytest.MonkeyPatch) -> None:
    """10, KIP-392: what it has not got yet is out of range, and the reader begins anew."""
    right = FetchOperation.read_partition

    def read(self: FetchOperation, asked: CachedPartition) -> Fetched:
        fetched = right(self, asked)
        if fetched.error == ErrorCode.OFFSET_NOT_AVAILABLE:
            fetched.error = ErrorCode.OFFSET_OUT_OF_RANGE
        return fetched

    patch.setattr(FetchOperation, "read_partition", read)


def what_is_sent_again_is_written_again(patch: pytest.MonkeyPatch) -> None:
    """13: the leader forgets which batches it has seen."""
    right = ProducerStates.check

    def check(self: ProducerStates, header: object, *, sequenced: bool) -> None:
        try:
            right(self, header, sequenced=sequenced)  # type: ignore[arg-type]
        except KafkaError as error:
            if error.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                raise

    patch.setattr(ProducerStates, "find_duplicate", lambda self, header: None)
    patch.setattr(ProducerStates, "check", check)


COUNTING_MUTANTS: list[Mutant] = [
    the_controller_takes_any_incarnation,
    leaders_and_controllers_take_any_incarnation,
    whoever_fetches_is_in_sync,
    a_new_leader_lets_join_by_its_own_high_watermark,
    who_joins_is_not_waited_for,
    a_leader_of_the_past_changes_the_in_sync_set,
    a_deposed_leader_acknowledges,
    a_leader_answers_followers_of_any_epoch,
    followers_take_what_they_have_for_committed,
    a_follower_that_lags_sends_readers_away,
    what_is_sent_again_is_written_again,
]
