"""Members of the classic protocol in a consumer group: both speak to one coordinator.

The coordinator assigns for them too, so nobody leads: JoinGroup tells what a member wants and
still has, its answer names the epoch as generation, SyncGroup brings what it gets, and Heartbeat
says when to join again: to give up, or to get what others have given up.
"""

from struct import pack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import CONSUMER, subscription_of
from ottla.groups.consumer import heartbeats, leaving, migration, records, targets
from ottla.groups.consumer.draft import Draft
from ottla.groups.consumer.group import ConsumerGroup, Held, Member, MemberState, Target
from ottla.groups.consumer.topics import owned_partitions
from ottla.groups.outcome import Caller, Outcome
from ottla.metadata.image import Image
from ottla.wire.codec import MalformedMessage, encode
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from ottla.wire.records.groups import ClassicMemberMetadata, ClassicProtocol

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

MEMBER_ID_REQUIRED_SINCE = 4


def join(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: JoinGroupRequest, caller: Caller
) -> Decision[JoinGroupResponse]:
    subscription = _subscription(group, request)
    member_id = request.member_id or groups.new_uuid()
    instance_id = request.group_instance_id
    must_come_again = caller.api_version >= MEMBER_ID_REQUIRED_SINCE
    if not request.member_id and instance_id is None and must_come_again:
        code = ErrorCode.MEMBER_ID_REQUIRED
        return Decision((), JoinGroupResponse(error_code=code, member_id=member_id))
    draft = Draft(group)
    owned = owned_partitions(groups.image(), subscription)
    member = _known_or_new(groups, draft, request, member_id, owned)
    updated = replace(
        member,
        instance_id=instance_id,
        rack=subscription.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=tuple(sorted(subscription.topics)),
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
    if updated != member or member.id not in group.members:
        draft.write(records.member_metadata(group.id, updated))
    reason = f"{updated.id} joined with the classic protocol"
    targets.refresh(groups, draft, now, reason, at_once=True)  # it would only join again and again
    updated = heartbeats.step(groups, draft, draft.member(updated.id), owned, now)
    groups.timers.cancel(("join", group.id, updated.id))
    _expect_session(groups, group, updated, now)
    _expect(groups, "sync", group, updated, now)
    response = JoinGroupResponse(
        member_id=updated.id,
        generation_id=updated.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name,
    )
    out = Outcome()
    out.records += draft.records
    migration.downgrade_if_due(groups, draft, now, out)
    return out.decision(response)


def _subscription(group: ConsumerGroup, request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """Only consumers, and only those who share an assignor's name with the others."""
    names = {protocol.name for protocol in request.protocols}
    others = [m.classic for m in group.members.values() if m.classic and m.id != request.member_id]
    shared = all(
        not names.isdisjoint(one.name for one in other.supported_protocols) for other in others
    )
    if request.protocol_type != CONSUMER or not names or not shared:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        return subscription_of(request.protocols[0].metadata)
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from None


def _known_or_new(
    groups: "Groups", draft: Draft, request: JoinGroupRequest, member_id: str, owned: Target
) -> Member:
    group, instance_id = draft.group, request.group_instance_id
    if instance_id is not None:
        known_id = group.static_ids.get(instance_id)
        if request.member_id:
            return group.static_member(instance_id, member_id)
        if known_id is not None:
            return heartbeats.replace_static(draft, group.members[known_id], member_id)
    known = group.members.get(member_id)
    if known is not None:
        return known
    if any(
        owned.values()
    ):  # it was thrown out and has not heard of it: others may have them by now
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if len(group.members) >= groups.limits.consumer_max_size:
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
    return Member(id=member_id)


def sync(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: SyncGroupRequest
) -> Decision[SyncGroupResponse]:
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    names = {protocol.name for protocol in classic.supported_protocols}
    if request.protocol_type not in (None, CONSUMER) or (
        request.protocol_name is not None and request.protocol_name not in names
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect(groups, "join", group, member, now)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    groups.timers.cancel(("sync", group.id, member.id))
    _expect_session(groups, group, member, now)
    version = int.from_bytes(classic.supported_protocols[0].metadata[:2], "big", signed=True)
    return Decision(
        (),
        SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(member.held, version, groups.image()),
        ),
    )


def encode_assignment(held: Held, version: int, image: Image) -> bytes:
    """As a classic leader would have written it."""
    known = max(0, min(version, ConsumerProtocolAssignment.VERSIONS[-1]))
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(
                topic=image.topics_by_id[topic_id].name, partitions=sorted(partitions)
            )
            for topic_id, partitions in held.items()
            if partitions and topic_id in image.topics_by_id
        ]
    )
    return pack(">h", known) + encode(assignment, known)


def heartbeat(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: HeartbeatRequest
) -> Decision[HeartbeatResponse]:
    member, _ = _classic_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    _expect_session(groups, group, member, now)
    if _should_join_again(group, member):
        _expect(groups, "join", group, member, now)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return Decision((), HeartbeatResponse())


def _should_join_again(group: ConsumerGroup, member: Member) -> bool:
    if member.epoch < group.epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and all(
        group.is_free(topic_id, index, member.id)
        for topic_id, partitions in group.targets.get(member.id, {}).items()
        for index in partitions
    )


def leave(
    groups: "Groups", group: ConsumerGroup, now: Instant, request: LeaveGroupRequest
) -> Decision[LeaveGroupResponse]:
    identities = request.members or [MemberIdentity(member_id=request.member_id)]
    gone: list[Member] = []
    answers: list[MemberResponse] = []
    for identity in identities:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        answer = MemberResponse(member_id=member_id, group_instance_id=instance_id)
        answers.append(answer)
        try:
            if not member_id and instance_id is not None:
                member_id = group.static_ids.get(instance_id, "")
            gone.append(_classic_member(group, member_id, instance_id)[0])
        except KafkaError as refusal:
            answer.error_code = refusal.code
    out = Outcome()
    if gone:
        names = ", ".join(member.id for member in gone)
        leaving.remove(groups, group, gone, now, f"{names} left", out)
    response = LeaveGroupResponse(members=answers)
    if not request.members:
        response.error_code = answers[0].error_code
    return out.decision(response)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicMemberMetadata]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = group.static_member(instance_id, member_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    return member, member.classic


def _expect_session(groups: "Groups", group: ConsumerGroup, member: Member, now: Instant) -> None:
    groups.expect_member(group.id, member.id, now, member)


def _expect(
    groups: "Groups", what: str, group: ConsumerGroup, member: Member, now: Instant
) -> None:
    name = (what, group.id, member.id)
    if name not in groups.timers:
        groups.timers.set(name, now.seconds + member.rebalance_timeout_ms / 1000)
