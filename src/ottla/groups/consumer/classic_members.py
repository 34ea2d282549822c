"""Members of the classic protocol in a consumer group: both speak to one coordinator.

The coordinator assigns for them too, so nobody leads: JoinGroup tells what a member wants and
still has, its answer names the epoch as generation, SyncGroup brings what it gets, and Heartbeat
says when to join again: to give up, or to get what others have given up.
"""

from collections import Counter
from struct import pack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import CONSUMER, subscription_of
from ottla.groups.consumer import heartbeats, leaving, migration, records, targets
from ottla.groups.consumer.draft import ConsumerGroupDraft
from ottla.groups.consumer.group import (
    ConsumerGroup,
    ConsumerGroupMember,
    ConsumerMemberState,
    Held,
    Target,
)
from ottla.groups.consumer.topics import owned_partitions
from ottla.groups.outcome import Caller, Outcome
from ottla.ids import show_uuid
from ottla.metadata.image import Image
from ottla.wire.codec import MalformedMessage, encode
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.wire.records.consumer_groups import ClassicMemberMetadata, ClassicProtocol
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

MEMBER_ID_REQUIRED_SINCE = 4


def join(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: JoinGroupRequest, caller: Caller
) -> Decision[JoinGroupResponse]:
    member_id = request.member_id or show_uuid(groups.new_uuid())
    instance_id = request.group_instance_id
    heartbeats.check_room(groups, group, member_id)
    _check_protocols(groups, group, request)
    must_come_again = caller.api_version >= MEMBER_ID_REQUIRED_SINCE
    if not request.member_id and instance_id is None and must_come_again:
        code = ErrorCode.MEMBER_ID_REQUIRED
        return Decision((), JoinGroupResponse(error_code=code, member_id=member_id))
    draft = ConsumerGroupDraft(group)
    before = _known_or_new(draft, request, member_id)
    subscription = _subscription(request)
    owned = owned_partitions(groups.image(), subscription)
    if member_id not in draft.group.members and any(owned.values()):
        # It was thrown out and has not heard of it: others may have them by now. Kafka lets it in.
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = _updated(before, request, subscription, caller)
    if member != before or member.id not in draft.group.members:
        draft.write(records.member_metadata(group.id, member))
    resubscribed = (member.topics, member.regex) != (before.topics, before.regex)
    reason = f"{member.id} joined with the classic protocol"
    targets.refresh(groups, draft, now, reason, resubscribed=resubscribed)
    out = Outcome()
    if _ends_the_consumer_protocol(groups, group, draft, instance_id):
        member = _downgrade(groups, group, draft, member, owned, now, resubscribed, out)
    else:
        targets.advance(groups, draft, now)
        member = heartbeats.step(
            groups, group, draft, member.id, owned, now, resubscribed=resubscribed
        )
        out.records += draft.records
        groups.expect_member(group.id, member.id, now, member)
        groups.timers.set(_timer("sync", group, member), _rebalance_time_is_up(member, now))
    groups.timers.cancel(_timer("join", group, member))
    response = JoinGroupResponse(
        member_id=member.id,
        generation_id=member.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name,
    )
    return out.decision(response)


def _check_protocols(groups: "Groups", group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """Only consumers, and only those who name an assignor that all the others know."""
    known = Counter(
        protocol.name
        for member in group.members.values()
        if member.classic is not None
        for protocol in member.classic.supported_protocols
    )
    classic = sum(member.classic is not None for member in group.members.values())
    shared = any(known[protocol.name] == classic for protocol in request.protocols)
    closed = groups.limits.consumer_migration not in (*migration.UPGRADES, *migration.DOWNGRADES)
    if closed or request.protocol_type != CONSUMER or not shared:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return subscription_of(request.protocols[0].metadata)
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from None


def _known_or_new(
    draft: ConsumerGroupDraft, request: JoinGroupRequest, member_id: str
) -> ConsumerGroupMember:
    group, instance_id = draft.group, request.group_instance_id
    if instance_id is not None:
        if request.member_id:
            return group.static_member(instance_id, member_id)
        known_id = group.static_ids.get(instance_id)
        if known_id is not None:  # whatever protocol it speaks, and whether it has left or not
            return heartbeats.replace_static(draft, group.members[known_id], member_id)
    return group.members.get(member_id) or ConsumerGroupMember(id=member_id)


def _updated(
    member: ConsumerGroupMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    caller: Caller,
) -> ConsumerGroupMember:
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack=subscription.rack_id or member.rack,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topics=tuple(sorted(set(subscription.topics))),
        regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=one.name, metadata=one.metadata) for one in request.protocols
            ],
        ),
    )


def _ends_the_consumer_protocol(
    groups: "Groups", group: ConsumerGroup, draft: ConsumerGroupDraft, instance_id: str | None
) -> bool:
    """The member takes the place of the last one that spoke the consumer protocol."""
    replaced = group.static_ids.get(instance_id or "")
    return (
        replaced is not None
        and group.members[replaced].classic is None
        and migration.may_downgrade(groups, list(draft.group.members.values()))
    )


def _downgrade(
    groups: "Groups",
    group: ConsumerGroup,
    draft: ConsumerGroupDraft,
    member: ConsumerGroupMember,
    owned: Target,
    now: Instant,
    resubscribed: bool,
    out: Outcome,
) -> ConsumerGroupMember:
    """Where the target is of the epoch it needs no rebalance: the member gets what was meant for
    the one whose place it takes."""
    reason = None
    if group.assignment_epoch < draft.group.epoch:
        reason = f"{member.id} took the place of the last member of the consumer protocol"
    else:
        member = heartbeats.step(
            groups, group, draft, member.id, owned, now, resubscribed=resubscribed
        )
    out.records += draft.records
    staying = list(draft.group.members.values())
    migration.downgrade(groups, draft.group, staying, now, reason, out, generation=group.epoch)
    return member


def sync(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: SyncGroupRequest
) -> Decision[SyncGroupResponse]:
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (
        None,
        classic.supported_protocols[0].name,
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    revokes = member.state is ConsumerMemberState.UNREVOKED_PARTITIONS  # then it has joined already
    if group.assignment_epoch > member.epoch and not revokes:
        _expect_join(groups, group, member, now)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    groups.timers.cancel(_timer("sync", group, member))
    groups.expect_member(group.id, member.id, now, member)
    version = int.from_bytes(classic.supported_protocols[0].metadata[:2], "big", signed=True)
    return Decision(
        (),
        SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(member.held, version, groups.image()),
        ),
    )


def encode_assignment(partitions: Held | Target, version: int, image: Image) -> bytes:
    """As a classic leader would have written it."""
    known = max(0, min(version, ConsumerProtocolAssignment.VERSIONS[-1]))
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(
                topic=image.topics_by_id[topic_id].name, partitions=sorted(indexes)
            )
            for topic_id, indexes in partitions.items()
            if indexes and topic_id in image.topics_by_id
        ]
    )
    return pack(">h", known) + encode(assignment, known)


def heartbeat(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: HeartbeatRequest
) -> Decision[HeartbeatResponse]:
    member, _ = _classic_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    groups.expect_member(group.id, member.id, now, member)
    if _should_join_again(group, member):
        _expect_join(groups, group, member, now)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return Decision((), HeartbeatResponse())


def _should_join_again(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    if (
        member.epoch < group.assignment_epoch
        or member.state is ConsumerMemberState.UNREVOKED_PARTITIONS
    ):
        return True
    return member.state is ConsumerMemberState.UNRELEASED_PARTITIONS and all(
        group.is_free(topic_id, index, member)
        for topic_id, partitions in group.targets.get(member.id, {}).items()
        for index in partitions - member.held.get(topic_id, {}).keys()
    )


def leave(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: LeaveGroupRequest
) -> Decision[LeaveGroupResponse]:
    gone: list[ConsumerGroupMember] = []
    answers: list[MemberResponse] = []
    for identity in request.members:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        answer = MemberResponse(member_id=member_id, group_instance_id=instance_id)
        answers.append(answer)
        try:
            if not member_id and instance_id is not None:
                member_id = group.static_ids.get(instance_id, "")
            gone.append(_known(group, member_id, instance_id))
        except KafkaError as refusal:
            answer.error_code = refusal.code
    out = Outcome()
    if gone:
        names = ", ".join(member.id for member in gone)
        leaving.remove(groups, group, gone, now, f"{names} left", out)
    return out.decision(LeaveGroupResponse(members=answers))


def _known(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    if instance_id is None:
        return group.member(member_id)
    return group.static_member(instance_id, member_id)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerGroupMember, ClassicMemberMetadata]:
    member = _known(group, member_id, instance_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    return member, member.classic


def _expect_join(
    groups: "Groups", group: ConsumerGroup, member: ConsumerGroupMember, now: Instant
) -> None:
    """From the first time that it was told."""
    name = _timer("join", group, member)
    if name not in groups.timers:
        groups.timers.set(name, _rebalance_time_is_up(member, now))


def _rebalance_time_is_up(member: ConsumerGroupMember, now: Instant) -> float:
    return now.seconds + member.rebalance_timeout_ms / 1000


def _timer(what: str, group: ConsumerGroup, member: ConsumerGroupMember) -> tuple[str, str, str]:
    return what, group.id, member.id
