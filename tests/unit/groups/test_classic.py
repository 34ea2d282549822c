"""The classic protocol, told as what members ask and what they are answered."""

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.wire.records.classic_groups import GroupMetadataValue
from support.group_driver import Driver, Ticket


def code(ticket: Ticket) -> ErrorCode:
    reply = ticket.reply
    return reply.code if isinstance(reply, KafkaError) else ErrorCode(reply.error_code)


def state(driver: Driver) -> ClassicGroupState | str:
    return driver.groups.groups["g"].state


def test_a_newcomer_is_given_an_id_and_asked_to_come_again() -> None:
    driver = Driver()
    first = driver.join()
    assert code(first) is ErrorCode.MEMBER_ID_REQUIRED
    again = driver.join(first.reply.member_id)
    driver.pass_time(0)
    assert code(again) is ErrorCode.NONE
    assert again.reply.leader == first.reply.member_id
    assert again.reply.generation_id == 1
    assert [m.member_id for m in again.reply.members] == [first.reply.member_id]


def test_the_leader_assigns_and_everyone_gets_their_part() -> None:
    driver = Driver()
    joined = driver.settle(3)
    assert state(driver) is ClassicGroupState.STABLE
    assert {j.leader for j in joined} == {joined[0].member_id}
    last = driver.written[-1].value
    assert isinstance(last, GroupMetadataValue)
    assert {m.member_id: m.assignment for m in last.members} == {
        j.member_id: j.member_id.encode() for j in joined
    }


def test_followers_wait_for_the_leader_to_assign() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    tickets = [driver.join(version=3, client=name) for name in "ab"]
    driver.pass_time(10)
    leader, follower = (t.reply.member_id for t in tickets)
    waiting = driver.sync(follower, 1)
    assert waiting.waits
    driver.sync(leader, 1, {follower: b"yours"})
    assert waiting.reply.assignment == b"yours"


def test_a_group_that_somebody_has_joined_is_there_for_the_next_coordinator() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    driver.join()
    driver.restart()
    assert state(driver) is ClassicGroupState.EMPTY
    assert driver.groups.groups["g"].members == {}


def test_a_group_that_is_waited_for_keeps_who_has_come_when_it_is_written() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    waiting = driver.join(version=3)
    assert len(driver.written) == 1
    assert state(driver) is ClassicGroupState.PREPARING_REBALANCE
    driver.pass_time(4)
    assert waiting.reply.generation_id == 1


def test_a_new_group_waits_for_others_as_long_as_new_ones_come() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    first = driver.join(version=3)
    driver.pass_time(2)
    second = driver.join(version=3)
    driver.pass_time(2)
    assert first.waits
    driver.pass_time(2)
    assert len(first.reply.members) == 2
    assert second.reply.generation_id == 1


def test_a_member_that_joins_makes_everyone_join_again() -> None:
    driver = Driver()
    (old,) = driver.settle(1)
    newcomer = driver.join(version=3)
    assert state(driver) is ClassicGroupState.PREPARING_REBALANCE
    assert code(driver.heartbeat(old.member_id, 1)) is ErrorCode.REBALANCE_IN_PROGRESS
    again = driver.join(old.member_id)
    assert again.reply.generation_id == newcomer.reply.generation_id == 2
    assert "joined" in driver.groups.history("g").reason


def test_who_does_not_join_again_in_time_is_out() -> None:
    driver = Driver()
    slow, _ = driver.settle(2, session_s=100, rebalance_s=60)
    newcomer = driver.join(version=3)
    driver.pass_time(59)
    assert newcomer.waits
    driver.pass_time(2)
    assert newcomer.reply.generation_id == 2
    assert code(driver.heartbeat(slow.member_id, 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_loses_its_session() -> None:
    driver = Driver()
    silent, talker = driver.settle(2, session_s=10)
    for _ in range(2):
        driver.pass_time(6)
        beat = driver.heartbeat(talker.member_id, 1)
    assert code(beat) is ErrorCode.REBALANCE_IN_PROGRESS
    assert silent.member_id not in driver.groups.groups["g"].members
    assert "no heartbeat" in driver.groups.history("g").reason


def test_the_last_member_leaves_an_empty_group_behind() -> None:
    driver = Driver()
    (member,) = driver.settle(1)
    assert [m.error_code for m in driver.leave(member.member_id).members] == [0]
    assert state(driver) is ClassicGroupState.EMPTY
    last = driver.written[-1].value
    assert isinstance(last, GroupMetadataValue)
    assert (last.generation, last.members, last.protocol_type) == (2, [], "consumer")


def test_who_comes_after_the_first_has_left_again_is_let_in() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    first = driver.join(version=3)
    driver.leave(first.reply.member_id if first.reply else next(iter(_members(driver))))
    second = driver.join(version=3)
    driver.pass_time(10)
    assert code(second) is ErrorCode.NONE
    assert second.reply.leader == second.reply.member_id


def _members(driver: Driver) -> list[str]:
    return list(driver.groups.groups["g"].members)


def test_unknown_members_cannot_leave() -> None:
    driver = Driver()
    driver.settle(1)
    assert driver.leave("nobody").members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_restart_needs_no_rebalance() -> None:
    driver = Driver()
    joined = driver.settle(3)
    driver.restart()
    for member in joined:
        assert code(driver.heartbeat(member.member_id, 1)) is ErrorCode.NONE
        assert driver.sync(member.member_id, 1).reply.assignment == member.member_id.encode()
    driver.pass_time(11)
    assert driver.groups.groups["g"].members == {}


def test_after_a_restart_a_member_asks_for_what_it_asked_for_last() -> None:
    driver = Driver()
    (member,) = driver.settle(1, metadata=b"\x00\x00first")
    driver.join(member.member_id, metadata=b"\x00\x00second")
    driver.pass_time(0)
    driver.sync(member.member_id, 2, {member.member_id: b"part"})
    driver.restart()
    group = driver.groups.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.members[member.member_id].metadata(group.protocol) == b"\x00\x00second"


def test_a_static_member_that_comes_back_keeps_its_part_without_a_rebalance() -> None:
    driver = Driver()
    (old,) = driver.settle(1, instance="i")
    back = driver.join(instance="i")
    assert back.reply.generation_id == 1
    assert back.reply.skip_assignment
    assert back.reply.member_id != old.member_id
    assert driver.sync(back.reply.member_id, 1, instance="i").reply.assignment == (
        old.member_id.encode()
    )
    assert code(driver.heartbeat(old.member_id, 1, "i")) is ErrorCode.FENCED_INSTANCE_ID
    driver.restart()
    assert code(driver.heartbeat(back.reply.member_id, 1, "i")) is ErrorCode.NONE


def test_a_static_member_is_sent_away_by_its_instance_id() -> None:
    driver = Driver()
    driver.settle(1, instance="i")
    assert driver.leave("", instance="i").members[0].error_code == 0
    assert state(driver) is ClassicGroupState.EMPTY


def test_members_agree_on_the_protocol_most_of_them_prefer() -> None:
    driver = Driver(initial_rebalance_delay_ms=3000)
    driver.join(version=3, protocols=("range", "sticky"))
    driver.join(version=3, protocols=("sticky", "range"))
    third = driver.join(version=3, protocols=("sticky", "range", "mine"))
    driver.pass_time(10)
    assert third.reply.protocol_name == "sticky"


def test_members_without_a_common_protocol_do_not_meet() -> None:
    driver = Driver()
    driver.settle(1)
    assert code(driver.join(protocols=("sticky",))) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert code(driver.join(protocol_type="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_session_time_out_beyond_the_limits_is_refused() -> None:
    driver = Driver()
    assert code(driver.join(session_s=1)) is ErrorCode.INVALID_SESSION_TIMEOUT
    assert code(driver.join(session_s=3600)) is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_full_group_takes_nobody() -> None:
    driver = Driver(classic_max_size=2)
    driver.settle(2)
    assert code(driver.join(version=3)) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_stranger_or_an_old_generation_is_told_so() -> None:
    driver = Driver()
    assert code(driver.join("nobody")) is ErrorCode.UNKNOWN_MEMBER_ID
    (member,) = driver.settle(1)
    assert code(driver.join("nobody")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(driver.heartbeat("nobody", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(driver.heartbeat(member.member_id, 0)) is ErrorCode.ILLEGAL_GENERATION
    assert code(driver.sync(member.member_id, 7)) is ErrorCode.ILLEGAL_GENERATION


def test_who_never_asks_for_its_part_is_out() -> None:
    driver = Driver()
    first = driver.join(version=3, session_s=100, rebalance_s=20)
    driver.pass_time(0)
    driver.pass_time(19)
    assert state(driver) is ClassicGroupState.COMPLETING_REBALANCE
    driver.pass_time(2)
    assert state(driver) is ClassicGroupState.EMPTY
    assert code(driver.heartbeat(first.reply.member_id, 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_given_out_and_never_used_holds_nobody_up_for_longer_than_its_session() -> None:
    driver = Driver()
    (member,) = driver.settle(1, session_s=100)
    driver.join(session_s=10)
    again = driver.join(member.member_id, session_s=100, reason="a leader asks")
    assert again.waits
    driver.pass_time(11)
    assert again.reply.generation_id == 2
