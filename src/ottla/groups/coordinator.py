"""The group coordinator of one broker: requests in, decisions through the shards that own them.

What it does itself is what needs more than one shard, or the cluster's metadata: turning topic
ids into names, asking several groups at once, forgetting offsets of deleted topics.

The decisions are imported with the first request that needs them: a start has no use for them.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ottla.coordination.shard import Phase, Shard
from ottla.coordination.shards import Shards
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.limits import GroupLimits, Pace
from ottla.metadata.image import ConfigResourceType, Image
from ottla.ports.chance import new_uuid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from ottla.config import Settings
    from ottla.coordination.log import ShardLog
    from ottla.coordination.machine import Decision, Instant, ProducerIdAndEpoch
    from ottla.groups.machine import Groups
    from ottla.groups.offsets.repeated_commits import RepeatedCommits
    from ottla.groups.outcome import Caller
    from ottla.groups.share.group import Topics
    from ottla.groups.share.heartbeats import ShareGroupHeartbeatResult
    from ottla.groups.share.starting import ToDelete, ToInitialize
    from ottla.groups.streams.heartbeats import StreamsGroupHeartbeatResult
    from ottla.ids import Uuid
    from ottla.metadata.image import Delta
    from ottla.ports.chance import Chance
    from ottla.ports.clock import Clock
    from ottla.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumers
    from ottla.wire.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from ottla.wire.messages.describe_groups import DescribedGroup
    from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from ottla.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from ottla.wire.messages.list_groups import ListedGroup
    from ottla.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
    from ottla.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
    from ottla.wire.messages.offset_fetch import (
        OffsetFetchRequestGroup,
        OffsetFetchResponseGroup,
    )
    from ottla.wire.messages.share_group_describe import DescribedGroup as DescribedShare
    from ottla.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
    from ottla.wire.messages.streams_group_describe import DescribedGroup as DescribedStreams
    from ottla.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from ottla.wire.messages.txn_offset_commit import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )

    Commit = Callable[[Groups, Instant, OffsetCommitRequest, int], Decision[OffsetCommitResponse]]

logger = logging.getLogger(__name__)

TOPIC = "__consumer_offsets"


@cache
def _commit() -> Commit:
    """The one decision that is asked for so often that an `import` for each would be felt."""
    from ottla.groups.offsets.committing import commit

    return commit


class GroupCoordinator:
    def __init__(
        self,
        settings: Settings,
        image: Callable[[], Image],
        clock: Clock,
        chance: Chance,
    ) -> None:
        self.limits = GroupLimits.of(settings)
        self._settings = settings
        self._image = image
        self._now = clock.monotonic
        self._new_uuid: Callable[[], Uuid] = lambda: new_uuid(chance)
        self._paces: dict[str, Pace] = {}  # of groups that have options of their own
        self.shards: Shards[Groups] = Shards(
            TOPIC,
            self._new_machine,
            clock,
            commit_timeout_s=settings.int("offsets.commit.timeout.ms") / 1000,
        )

    def _new_machine(self, partition: int) -> Groups:
        from ottla.groups.machine import Groups

        return Groups(self.limits, self._new_uuid, self._image, self._paces)

    # -- leadership ---------------------------------------------------------------------------

    def elected(self, partition: int, log: ShardLog) -> None:
        self.shards.elected(partition, log)

    def resigned(self, partition: int) -> None:
        self.shards.resigned(partition)

    def resize(self, partition_count: int) -> None:
        self.shards.resize(partition_count)

    def image_loaded(self, image: Image) -> None:
        """The first image: what is set for single groups."""
        for kind, name in image.configs:
            if kind == ConfigResourceType.GROUP:
                self.configure(name, image.config(kind, name))

    def image_changed(self, image: Image, delta: Delta) -> None:
        gone = frozenset(topic.name for topic in delta.topics_removed.values())
        if gone or any(was is None for was in delta.partitions.values()):
            for shard in self._active():
                shard.machine.topics_version += 1
        if gone:
            self._topics_deleted(gone)
        for kind, name in delta.configs:
            if kind == ConfigResourceType.GROUP:
                self.configure(name, image.config(kind, name))

    def _topics_deleted(self, gone: frozenset[str]) -> None:
        from ottla.groups.offsets.removal import topics_deleted

        for shard in self._active():
            try:
                shard.submit(lambda groups, now, _: topics_deleted(groups, gone))
            except KafkaError as error:  # they expire in time
                logger.warning("%s: offsets of deleted topics stay: %s", shard.name, error)

    def configure(self, group_id: str, options: Mapping[str, str]) -> None:
        """What was set for this one group; nothing takes it back to the broker's options."""
        if options:
            self._paces[group_id] = Pace.of(self._settings.for_group(options))
        else:
            self._paces.pop(group_id, None)

    # -- members ------------------------------------------------------------------------------

    def join(self, request: JoinGroupRequest, caller: Caller) -> Awaitable[JoinGroupResponse]:
        from ottla.groups.classic.joining import join

        return self._managed(request.group_id).submit(
            lambda groups, now, ticket: join(groups, now, request, caller, ticket)
        )

    def sync(self, request: SyncGroupRequest) -> Awaitable[SyncGroupResponse]:
        from ottla.groups.classic.syncing import sync

        return self._managed(request.group_id).submit(
            lambda groups, now, ticket: sync(groups, now, request, ticket)
        )

    def heartbeat(self, request: HeartbeatRequest) -> Awaitable[HeartbeatResponse]:
        from ottla.groups.classic.heartbeats import heartbeat

        return self._managed(request.group_id).submit(
            lambda groups, now, _: heartbeat(groups, now, request)
        )

    def leave(self, request: LeaveGroupRequest) -> Awaitable[LeaveGroupResponse]:
        from ottla.groups.classic.leaving import leave

        return self._managed(request.group_id).submit(
            lambda groups, now, _: leave(groups, now, request)
        )

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller
    ) -> Awaitable[ConsumerGroupHeartbeatResponse]:
        from ottla.groups.consumer.heartbeats import heartbeat

        self._check_protocol("consumer")
        return self.shards.of(request.group_id).submit(
            lambda groups, now, _: heartbeat(groups, now, request, caller)
        )

    def share_heartbeat(
        self, request: ShareGroupHeartbeatRequest, caller: Caller
    ) -> Awaitable[ShareGroupHeartbeatResult]:
        """The answer, and states that whoever answers has to make."""
        from ottla.groups.share.heartbeats import heartbeat

        return self.shards.of(request.group_id).submit(
            lambda groups, now, _: heartbeat(groups, now, request, caller)
        )

    def streams_heartbeat(
        self, request: StreamsGroupHeartbeatRequest, caller: Caller
    ) -> Awaitable[StreamsGroupHeartbeatResult]:
        """The answer, and topics that whoever answers has to make."""
        from ottla.groups.streams.checks import check
        from ottla.groups.streams.heartbeats import heartbeat

        self._check_protocol("streams")
        check(request)
        return self.shards.of(request.group_id).submit(
            lambda groups, now, _: heartbeat(groups, now, request, caller)
        )

    def initialized_share_partitions(self, group_id: str) -> Topics:
        """The partitions that a share group has queues over."""
        from ottla.groups.share.starting import initialized_of

        return initialized_of(self.shards.of(group_id).machine, group_id)

    def share_queues_to_delete(self, group_id: str) -> Topics:
        """The states of these have to go before the group does, which is the only one to know
        of them. KafkaError while somebody is in it."""
        from ottla.groups.share.starting import queues_to_delete

        return queues_to_delete(self.shards.of(group_id).machine, group_id)

    def begin_to_forget_share(self, group_id: str, names: list[str]) -> Awaitable[ToDelete]:
        """The same for some topics, before `forget_share`."""
        from ottla.groups.share.starting import begin_to_forget

        return self.shards.of(group_id).submit(
            lambda groups, now, _: begin_to_forget(groups, group_id, names)
        )

    def forget_share(self, group_id: str, topics: set[Uuid]) -> Awaitable[None]:
        from ottla.groups.share.starting import forget

        return self.shards.of(group_id).submit(
            lambda groups, now, _: forget(groups, group_id, topics)
        )

    def start_share(self, group_id: str, topics: Topics) -> Awaitable[ToInitialize]:
        """States are to be made anew, before `share_initialized`."""
        from ottla.groups.share.starting import start

        return self.shards.of(group_id).submit(
            lambda groups, now, _: start(groups, now, group_id, topics)
        )

    def share_initialized(self, group_id: str, topics: Topics) -> Awaitable[None]:
        from ottla.groups.share.starting import initialized

        return self.shards.of(group_id).submit(
            lambda groups, now, _: initialized(groups, group_id, topics)
        )

    def share_not_initialized(self, group_id: str, topics: Topics) -> Awaitable[None]:
        from ottla.groups.share.starting import not_initialized

        return self.shards.of(group_id).submit(
            lambda groups, now, _: not_initialized(groups, group_id, topics)
        )

    # -- offsets ------------------------------------------------------------------------------

    def commit(
        self, request: OffsetCommitRequest, api_version: int
    ) -> Awaitable[OffsetCommitResponse]:
        """Every topic in it exists, and is known by its name."""
        commit = _commit()
        return self.shards.of(request.group_id).submit(
            lambda groups, now, _: commit(groups, now, request, api_version)
        )

    @cached_property
    def repeated_commits(self) -> RepeatedCommits:
        from ottla.groups.offsets.repeated_commits import RepeatedCommits

        return RepeatedCommits()

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest
    ) -> Awaitable[TxnOffsetCommitResponse]:
        """The transaction's coordinator has said that the producer may."""
        from ottla.groups.offsets.committing import commit_in_transaction

        return self._managed(request.group_id).submit(
            lambda groups, now, _: commit_in_transaction(groups, now, request)
        )

    def end_transaction(
        self,
        partition: int,
        producer: ProducerIdAndEpoch,
        coordinator_epoch: int,
        *,
        committed: bool,
    ) -> Awaitable[None]:
        """A marker for a partition of `__consumer_offsets` is written and applied here."""
        shard = self.shards.at(partition)
        return shard.end_transaction(producer, coordinator_epoch, committed)

    def fetch(
        self, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> Awaitable[OffsetFetchResponseGroup]:
        from ottla.groups.offsets.fetching import fetch

        return self.shards.of(request.group_id).submit(
            lambda groups, now, _: fetch(groups, request, require_stable=require_stable)
        )

    def delete_offsets(self, request: OffsetDeleteRequest) -> Awaitable[OffsetDeleteResponse]:
        from ottla.groups.offsets.removal import delete_offsets

        return self._managed(request.group_id).submit(
            lambda groups, now, _: delete_offsets(groups, request)
        )

    # -- groups -------------------------------------------------------------------------------

    def describe(self, group_id: str, api_version: int) -> DescribedGroup:
        from ottla.groups.describing import describe

        return describe(self.shards.of(group_id).machine, group_id, api_version)

    def describe_consumer(self, group_id: str) -> DescribedConsumers:
        from ottla.groups.describing import describe_consumer

        return describe_consumer(self._managed(group_id).machine, group_id)

    def describe_share(self, group_id: str) -> DescribedShare:
        from ottla.groups.describing import describe_share

        return describe_share(self.shards.of(group_id).machine, group_id)

    def describe_streams(self, group_id: str) -> DescribedStreams:
        from ottla.groups.streams.describing import describe

        return describe(self._managed(group_id).machine, group_id)

    def rebalance_of(self, group_id: str) -> str | None:
        """Why the group rebalanced last, how long it took, and for whom it waits, as JSON."""
        machine = self.shards.of(group_id).machine
        group = machine.find(group_id)
        if group is None:
            return None
        return machine.history(group_id).told(self._now(), group.waiting_for())

    def listed(self, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
        from ottla.groups.describing import listed

        if self.shards.loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        wanted = {state.lower().strip() for state in states}, {kind.lower() for kind in types}
        return [shown for shard in self._active() for shown in listed(shard.machine, *wanted)]

    def delete(self, group_id: str) -> asyncio.Future[None]:
        from ottla.groups.offsets.removal import delete_group

        return self.shards.of(group_id).submit(
            lambda groups, now, _: delete_group(groups, group_id)
        )

    # -- inside -------------------------------------------------------------------------------

    def _check_protocol(self, name: str) -> None:
        if name not in self.limits.protocols:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"group.coordinator.rebalance.protocols leaves the {name} protocol out.",
            )

    def _managed(self, group_id: str) -> Shard[Groups]:
        """Only offsets may be kept under the empty name."""
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        return self.shards.of(group_id)

    def _active(self) -> list[Shard[Groups]]:
        return [shard for shard in self.shards if shard.phase is Phase.ACTIVE]
