"""The streams protocol: members of an application share its tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.limits import Pace
from ottla.groups.offsets.fetching import fetch
from ottla.groups.offsets.removal import delete_group
from ottla.groups.streams.describing import describe
from ottla.groups.streams.group import NOTHING, StreamsMemberState, Task
from ottla.groups.streams.topics import Status
from ottla.wire.messages.offset_fetch import OffsetFetchRequestGroup
from ottla.wire.messages.streams_group_heartbeat import RequestTaskIds
from support.committing import committing, committing_in_transaction
from support.group_driver import Driver
from support.streams_members import (
    StreamsMember,
    group_of,
    settle,
    subtopology,
    topology,
)


def driver_with(*, standbys: int = 0, max_size: int = 10, **topics: int) -> Driver:
    driver = Driver(pace=Pace(streams_standbys=standbys), streams_max_size=max_size)
    for name, partitions in topics.items():
        driver.make_topic(name, partitions)
    return driver


def error_of(reply: object) -> ErrorCode:
    assert isinstance(reply, KafkaError), reply
    return reply.code


def two_settled(driver: Driver) -> tuple[StreamsMember, StreamsMember]:
    one, two = StreamsMember(driver, "a").join(), StreamsMember(driver, "b").join()
    settle(one, two)
    return one, two


# -- joining ----------------------------------------------------------------------------------


def test_the_first_tasks_wait_for_more_members() -> None:
    driver = driver_with(lines=4)
    one = StreamsMember(driver, "a").join()
    assert (one.epoch, one.has.active) == (1, frozenset())
    assert Status.ASSIGNMENT_DELAYED in one.told
    two = StreamsMember(driver, "b").join()
    settle(one, two)
    assert len(one.has.active) == len(two.has.active) == 2
    assert one.epoch == two.epoch == group_of(driver).epoch
    assert group_of(driver).state == "Stable"


def test_a_clock_that_went_back_keeps_nobody_from_new_tasks() -> None:
    driver = driver_with(lines=4)
    one, two = two_settled(driver)
    group_of(driver).assigned_at_ms = driver.now.wall_ms + 86_400_000
    two.leave()
    settle(one)
    assert len(one.has.active) == 4


def test_missing_changelogs_are_made_with_a_partition_for_each_task() -> None:
    driver = driver_with(lines=3)
    one = StreamsMember(driver, "a").join()
    (missing,) = one.missing
    assert (missing.name, missing.partitions, missing.replication_factor) == ("counts", 3, -1)
    assert missing.configs == {"cleanup": "compact"}
    assert Status.MISSING_INTERNAL_TOPICS in one.told
    settle(one)
    assert one.has.active == {("0", index) for index in range(3)}
    assert group_of(driver).validated_epoch == 0


def test_without_its_source_a_group_is_not_ready_until_it_is_there() -> None:
    driver = driver_with()
    one = StreamsMember(driver, "a").join()
    driver.pass_time(5)
    assert one.beat() is ErrorCode.NONE
    assert one.told == {Status.MISSING_SOURCE_TOPICS}
    assert group_of(driver).state == "NotReady"
    driver.make_topic("lines", 2)
    settle(one)
    assert len(one.has.active) == 2


def test_a_topology_that_differs_is_refused() -> None:
    driver = driver_with(lines=1, others=1)
    StreamsMember(driver, "a").join()
    other = StreamsMember(driver, "b", topology(subtopology("0", "others")))
    assert error_of(other.try_to_join()) is ErrorCode.INVALID_REQUEST


def test_a_member_of_an_older_topology_is_told() -> None:
    driver = driver_with(lines=1)
    StreamsMember(driver, "a", topology(subtopology("0", "lines"), epoch=1)).join()
    old = StreamsMember(driver, "b", topology(subtopology("0", "elsewhere"), epoch=0)).join()
    assert Status.STALE_TOPOLOGY in old.told


@pytest.mark.parametrize(
    "fields",
    [
        {"rebalance_timeout_ms": -1},
        {"topology": None},
        {"active_tasks": None},
        {"active_tasks": [RequestTaskIds(subtopology_id="0", partitions=[0])]},
        {"instance_id": "static"},
        {"task_offsets": []},
        {"rack_id": ""},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_a_bad_join_is_refused(fields: dict[str, object]) -> None:
    driver = driver_with(lines=1)
    reply = StreamsMember(driver, "a").try_to_join(**fields)
    assert error_of(reply) is ErrorCode.INVALID_REQUEST
    assert not driver.groups.groups


def test_a_full_group_takes_nobody() -> None:
    driver = driver_with(max_size=1, lines=1)
    StreamsMember(driver, "a").join()
    reply = StreamsMember(driver, "b").try_to_join()
    assert error_of(reply) is ErrorCode.GROUP_MAX_SIZE_REACHED


# -- moving tasks -----------------------------------------------------------------------------


def test_a_task_never_has_two_active_owners() -> None:
    driver = driver_with(lines=4)
    one = StreamsMember(driver, "a").join()
    settle(one)
    one.stubborn = True
    two = StreamsMember(driver, "b").join()
    for _ in range(5):
        driver.pass_time(1)
        one.beat()
        two.beat()
        assert not one.has.active & two.has.active
    assert group_of(driver).members["b"].state is StreamsMemberState.UNRELEASED_TASKS
    one.stubborn = False
    one.has = type(one.has)()  # it gives everything up, more than it was asked to
    settle(one, two)
    assert len(one.has.active | two.has.active) == 4


def test_who_does_not_give_up_in_time_is_out() -> None:
    driver = driver_with(lines=4)
    one = StreamsMember(driver, "a").join()
    settle(one)
    one.stubborn = True
    two = StreamsMember(driver, "b").join()
    for _ in range(40):
        driver.pass_time(1)
        two.beat()
        if one.beat() is not ErrorCode.NONE:
            break
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    settle(two)
    assert len(two.has.active) == 4
    assert group_of(driver).state == "Stable"


def test_who_does_not_give_up_is_out_though_the_coordinator_was_restarted() -> None:
    driver = driver_with(lines=4)
    one = StreamsMember(driver, "a").join()
    settle(one)
    one.stubborn = True
    StreamsMember(driver, "b").join()
    driver.pass_time(1)
    one.beat()
    driver.restart()
    for _ in range(31):
        driver.pass_time(1)
        one.beat()
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_loses_its_tasks_after_its_session() -> None:
    driver = driver_with(lines=2)
    one, two = two_settled(driver)
    for _ in range(50):
        driver.pass_time(1)
        assert two.beat() is ErrorCode.NONE
    assert len(two.has.active) == 2
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_else_loses_anything_when_one_leaves() -> None:
    driver = driver_with(lines=6)
    members = [StreamsMember(driver, name).join() for name in "abc"]
    settle(*members)
    before = [member.has.active for member in members[:2]]
    members[2].leave()
    settle(*members[:2])
    for member, had in zip(members[:2], before, strict=True):
        assert had < member.has.active
        assert len(member.has.active) == 3


def test_a_standby_takes_over() -> None:
    driver = driver_with(standbys=1, lines=4)
    one, two = two_settled(driver)
    assert one.has.standby == two.has.active
    assert two.has.standby == one.has.active
    two.leave()
    settle(one)
    assert len(one.has.active) == 4
    assert not one.has.standby


def test_standbys_follow_the_groups_option() -> None:
    driver = driver_with(lines=2)
    one, two = two_settled(driver)
    assert not one.has.standby
    driver.groups._paces = {"g": Pace(streams_standbys=1)}
    settle(one, two)
    assert one.has.standby == two.has.active


def test_a_new_partition_of_the_source_is_told_as_a_problem_of_the_changelog() -> None:
    driver = driver_with(lines=1)
    one = StreamsMember(driver, "a").join()
    settle(one)
    driver.make_topic("lines", 2)
    driver.pass_time(2)
    one.beat()
    assert Status.INCORRECTLY_PARTITIONED_TOPICS in one.told
    assert group_of(driver).state == "NotReady"
    driver.make_topic("counts", 2)
    settle(one)
    assert len(one.has.active) == 2


# -- epochs -----------------------------------------------------------------------------------


def test_epochs_that_are_not_the_members_are_fenced() -> None:
    driver = driver_with(lines=1)
    one = StreamsMember(driver, "a").join()
    settle(one)
    for epoch in (one.epoch + 1, one.epoch - 2):
        assert error_of(one.send(epoch)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert error_of(StreamsMember(driver, "x").send(1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_lost_answer_is_repeated() -> None:
    driver = driver_with(lines=2)
    one = StreamsMember(driver, "a").join()
    settle(one)
    had, before = one.owned(), one.epoch
    two = StreamsMember(driver, "b").join()
    driver.pass_time(1)
    one.send(before, **had)  # told to give up one; the answer is lost
    reply = one.send(before, **had)
    assert not isinstance(reply, KafkaError)
    settle(one, two)
    assert len(one.has.active) == len(two.has.active) == 1


def test_unknown_tasks_are_refused() -> None:
    driver = driver_with(lines=1)
    one = StreamsMember(driver, "a").join()
    settle(one)
    for name, index in (("9", 0), ("0", 1)):
        tasks = [RequestTaskIds(subtopology_id=name, partitions=[index])]
        reply = one.send(one.epoch, active_tasks=tasks, standby_tasks=[], warmup_tasks=[])
        assert error_of(reply) is ErrorCode.INVALID_REQUEST


def test_a_restart_of_the_coordinator_moves_nothing() -> None:
    driver = driver_with(standbys=1, lines=4)
    one, two = two_settled(driver)
    before = (one.epoch, one.has, two.has, len(driver.written))
    driver.restart()
    settle(one, two)
    assert (one.epoch, one.has, two.has, len(driver.written)) == before


def test_a_shutdown_is_told_to_all_and_forgotten_with_the_last() -> None:
    driver = driver_with(lines=2)
    one, two = two_settled(driver)
    assert not isinstance(one.send(one.epoch, shutdown_application=True), KafkaError)
    two.beat()
    assert Status.SHUTDOWN_APPLICATION in two.told
    one.leave()
    two.leave()
    again = StreamsMember(driver, "c").join()
    assert Status.SHUTDOWN_APPLICATION not in again.told


def test_endpoints_are_told_with_their_partitions() -> None:
    driver = driver_with(standbys=1, lines=2)
    one = StreamsMember(driver, "a", endpoint=("here", 1)).join()
    two = StreamsMember(driver, "b").join()
    settle(one, two)
    reply = two.send(two.epoch, endpoint_information_epoch=-7)
    assert not isinstance(reply, KafkaError)
    (shown,) = reply.response.partitions_by_user_endpoint or []
    assert (shown.user_endpoint.host, shown.user_endpoint.port) == ("here", 1)
    (active,) = shown.active_partitions
    assert (active.topic, active.partitions) == ("lines", [i for _, i in sorted(one.has.active)])
    assert shown.standby_partitions[0].topic == "lines"


# -- offsets and the group as a whole ---------------------------------------------------------


def test_zombies_do_not_commit() -> None:
    driver = driver_with(lines=2)
    one = StreamsMember(driver, "a").join()
    settle(one)
    old = one.epoch
    two = StreamsMember(driver, "b").join()
    settle(one, two)
    (index,) = (index for _, index in one.has.active)
    kept, given = ("lines", index), ("lines", 1 - index)
    assert committing(driver, "a", one.epoch, kept) is ErrorCode.NONE
    assert committing(driver, "a", old, kept) is ErrorCode.NONE, "it has had it since then"
    assert committing(driver, "a", old, given) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing(driver, "a", one.epoch + 1, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing(driver, "a", -1, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing_in_transaction(driver, "a", old, kept) is ErrorCode.NONE
    assert committing_in_transaction(driver, "a", old, given) is ErrorCode.ILLEGAL_GENERATION
    stale = OffsetFetchRequestGroup(group_id="g", member_id="a", member_epoch=old, topics=None)
    reply = driver.ask(lambda _: fetch(driver.groups, stale, require_stable=False)).reply
    assert error_of(reply) is ErrorCode.STALE_MEMBER_EPOCH


def test_only_an_empty_group_is_deleted_and_nothing_is_left_of_it() -> None:
    driver = driver_with(lines=1)
    one = StreamsMember(driver, "a").join()
    settle(one)
    committing(driver, "a", one.epoch, ("lines", 0))
    refused = driver.ask(lambda _: delete_group(driver.groups, "g")).reply
    assert error_of(refused) is ErrorCode.NON_EMPTY_GROUP
    one.leave()
    driver.ask(lambda _: delete_group(driver.groups, "g"))
    driver.restart()
    assert not driver.groups.groups
    assert not driver.groups.offsets.of("g")


def test_an_empty_group_expires_with_its_offsets() -> None:
    driver = driver_with(lines=1)
    one = StreamsMember(driver, "a").join()
    settle(one)
    committing(driver, "a", one.epoch, ("lines", 0))
    one.leave()
    driver.pass_time(8 * 24 * 3600)
    assert not driver.groups.groups


def test_a_description_shows_topology_and_tasks() -> None:
    driver = driver_with(lines=2)
    one = StreamsMember(driver, "a").join()
    settle(one)
    shown = describe(driver.groups, "g")
    assert (shown.group_state, shown.group_epoch) == ("Stable", shown.assignment_epoch)
    assert shown.topology is not None
    assert shown.topology.subtopologies is not None
    (part,) = shown.topology.subtopologies
    assert [(t.name, t.partitions) for t in part.state_changelog_topics] == [("counts", 2)]
    (member,) = shown.members
    assert member.assignment.active_tasks[0].partitions == [0, 1]
    assert member.target_assignment == member.assignment
    assert describe(driver.groups, "x").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_the_reason_of_a_rebalance_is_kept() -> None:
    driver = driver_with(lines=2)
    one, two = two_settled(driver)
    two.leave()
    settle(one)
    assert driver.groups.history("g").reason == "b left"
    assert driver.groups.history("g").finished is not None


# -- whatever happens -------------------------------------------------------------------------

STEPS = ("join", "beat", "beat", "beat", "deaf", "leave", "time", "restart", "grow")


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from("abcd")), max_size=40))
def test_no_task_is_active_twice_whatever_happens(steps: list[tuple[str, str]]) -> None:
    """Of those whom the group knows. `deaf`: a heartbeat whose answer is lost."""
    driver = driver_with(standbys=1, lines=3)
    members = {name: StreamsMember(driver, name, process=name.upper()) for name in "abcd"}
    for step, name in steps:
        member = members[name]
        if step == "time":
            driver.pass_time(7)
        elif step == "restart":
            driver.restart()
        elif step == "grow":
            driver.make_topic("lines", 5)
            driver.make_topic("counts", 5)
        elif step == "join":
            member.join()
        elif step == "deaf":
            member.send(member.epoch, **member.owned())
        elif step == "leave" and "g" in driver.groups.groups and name in group_of(driver).members:
            member.leave()
        elif step == "beat" and member.beat() is not ErrorCode.NONE:
            member.has = NOTHING  # as a client does when it is fenced
        check_owners(driver, members)
    alive = [member for member in members.values() if member.join()]
    settle(*alive)
    check_owners(driver, members)
    tasks = [task for member in alive for task in member.has.active]
    assert len(tasks) == len(set(tasks)) == len(driver.image.topics_by_name["lines"].partitions)


def check_owners(driver: Driver, members: dict[str, StreamsMember]) -> None:
    if "g" not in driver.groups.groups:
        return
    group = group_of(driver)
    believed: list[Task] = []
    for name, member in members.items():
        known = group.members.get(name)
        if known is None or known.epoch < member.epoch:
            continue
        believed += member.has.active
        assert known.held.active.isdisjoint(known.held.standby)
    assert len(believed) == len(set(believed)), "two members take a task for theirs"
    held = [
        task for one in group.members.values() for task in one.held.active | one.revoking.active
    ]
    assert len(held) == len(set(held))
