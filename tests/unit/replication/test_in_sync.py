"""The in-sync set by its events: who is waited for, who joins, who leaves."""

from ottla.replication.in_sync import Advance, Effect, InSync, ProposeInSync, Trimmed


def led_by_1(
    *, followers: tuple[int, ...] = (), in_sync: tuple[int, ...] = (1,), min_in_sync: int = 1
) -> InSync:
    return InSync(
        0.0,
        node_id=1,
        replicas=(1, *followers),
        in_sync=in_sync,
        end_offset=0,
        high_watermark=0,
        min_in_sync=min_in_sync,
        lag_s_max=10.0,
    )


def test_a_lone_replica_commits_what_it_appends() -> None:
    assert led_by_1().appended(0.0, 5) == 5


def test_a_record_is_committed_when_the_last_follower_in_sync_has_it() -> None:
    partition = led_by_1(followers=(2, 3), in_sync=(1, 2, 3))
    assert partition.appended(0.0, 5) is None
    assert partition.fetched(0.1, 2, 5, broker_epoch=1, eligible=True) == []
    assert partition.fetched(0.2, 3, 4, broker_epoch=1, eligible=True) == [Advance(4)]
    assert partition.fetched(0.3, 3, 5, broker_epoch=1, eligible=True) == [Advance(5)]


def test_the_high_watermark_never_goes_back() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1, 2))
    partition.appended(0.0, 5)
    partition.fetched(0.1, 2, 5, broker_epoch=1, eligible=True)
    assert partition.fetched(0.2, 2, 3, broker_epoch=1, eligible=True) == []
    assert partition.high_watermark == 5


def test_a_follower_that_stops_fetching_leaves_the_in_sync_set() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1, 2))
    partition.appended(0.0, 1)
    assert partition.tick(10.0) == []
    assert partition.tick(10.001) == [ProposeInSync(frozenset({1}))]
    assert partition.tick(20.0) == [], "one proposal at a time"
    assert partition.decided(20.1, (1, 2), (1,)) == [Advance(1)]


def test_a_leader_is_heard_while_a_follower_in_sync_fetches() -> None:
    partition = led_by_1(followers=(2, 3, 4), in_sync=(1, 2, 3))
    assert not partition.is_heard(1.0, 1.5)
    partition.fetched(1.0, 4, 0, broker_epoch=1, eligible=False)  # which cannot be elected
    assert not partition.is_heard(1.0, 1.5)
    partition.fetched(1.0, 3, 0, broker_epoch=1, eligible=True)
    assert partition.is_heard(2.5, 1.5)
    assert not partition.is_heard(2.6, 1.5)


def test_who_is_in_sync_alone_needs_nobody_to_hear_it() -> None:
    assert led_by_1().is_heard(100.0, 1.5)
    assert led_by_1(followers=(2,)).is_heard(100.0, 1.5)


def test_a_follower_that_is_asleep_but_has_everything_stays() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1, 2))
    partition.appended(0.0, 1)
    partition.fetched(0.1, 2, 1, broker_epoch=1, eligible=True)
    assert partition.tick(1000.0) == []


def test_a_follower_joins_once_it_has_all_that_is_committed() -> None:
    partition = led_by_1(followers=(2,))
    partition.appended(0.0, 5)
    assert partition.high_watermark == 5
    assert partition.fetched(50.0, 2, 4, broker_epoch=7, eligible=True) == []
    assert partition.fetched(51.0, 2, 5, broker_epoch=7, eligible=True) == [
        ProposeInSync(frozenset({1, 2}))
    ]


def test_a_proposed_follower_is_waited_for_before_the_controller_has_answered() -> None:
    partition = led_by_1(followers=(2,))
    partition.fetched(50.0, 2, 0, broker_epoch=7, eligible=True)
    assert partition.appended(51.0, 3) is None
    assert partition.refused(100.0) == [Advance(3)]


def test_a_fenced_follower_does_not_join() -> None:
    partition = led_by_1(followers=(2,))
    assert partition.fetched(50.0, 2, 0, broker_epoch=7, eligible=False) == []


def test_nothing_is_committed_with_fewer_than_the_least_in_sync_replicas() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1,), min_in_sync=2)
    assert partition.is_under_min
    assert partition.appended(50.0, 3) is None
    partition.fetched(51.0, 2, 3, broker_epoch=1, eligible=True)
    assert partition.decided(51.1, (1, 2), (1, 2)) == [Advance(3)]


def test_a_single_replica_is_enough_whatever_min_insync_replicas_says() -> None:
    assert led_by_1(min_in_sync=2).appended(0.0, 3) == 3


def test_a_follower_that_the_controller_took_out_is_not_waited_for() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1, 2))
    partition.appended(0.0, 5)
    partition.fetched(0.1, 2, 5, broker_epoch=1, eligible=True)
    partition.decided(0.2, (1, 2), (1,))  # its broker died and was fenced
    assert partition.appended(0.3, 6) == 6


def test_a_follower_whose_joining_was_refused_is_not_waited_for() -> None:
    partition = led_by_1(followers=(2,))
    partition.appended(0.0, 5)
    assert partition.fetched(0.1, 2, 5, broker_epoch=1, eligible=True) == [
        ProposeInSync(frozenset({1, 2}))
    ]
    partition.refused(0.2)
    assert partition.appended(0.3, 6) == 6


def test_a_follower_that_may_not_be_in_sync_is_not_waited_for() -> None:
    partition = led_by_1(followers=(2,))
    partition.appended(0.0, 5)
    assert partition.fetched(0.1, 2, 5, broker_epoch=1, eligible=False) == []
    assert partition.appended(0.2, 6) == 6


def test_a_follower_that_has_everything_needs_no_second_look() -> None:
    partition = led_by_1(followers=(2, 3), in_sync=(1, 2, 3))
    partition.appended(0.0, 5)
    partition.fetched(0.1, 2, 5, broker_epoch=7, eligible=True)
    assert not partition.fetched_again(0.2, 2, broker_epoch=7), "3 has nothing yet"
    partition.fetched(0.3, 3, 5, broker_epoch=8, eligible=True)
    assert partition.fetched_again(30.0, 2, broker_epoch=7)
    assert not partition.fetched_again(30.0, 3, broker_epoch=9), "another incarnation"
    partition.appended(35.0, 6)
    assert not partition.fetched_again(35.1, 2, broker_epoch=7), "it lacks a record"
    assert partition.tick(36.0) == [ProposeInSync(frozenset({1, 2}))], "2 had everything at 30"


def test_a_follower_outside_of_the_set_is_looked_at_each_time() -> None:
    partition = led_by_1(followers=(2,))
    partition.appended(0.0, 5)
    partition.fetched(0.1, 2, 5, broker_epoch=7, eligible=True)
    assert not partition.fetched_again(0.2, 2, broker_epoch=7), "it is only proposed"


def test_a_leader_knows_when_no_follower_has_been_heard_of_for_long() -> None:
    partition = led_by_1(followers=(2, 3), in_sync=(1, 2, 3))
    assert partition.is_silent(100.0, 9.0)
    partition.fetched(100.0, 2, 0, broker_epoch=1, eligible=True)
    assert not partition.is_silent(105.0, 9.0)
    assert partition.is_silent(110.0, 9.0)


def test_where_the_log_of_a_follower_starts_is_known_and_told_once() -> None:
    partition = led_by_1(followers=(2,), in_sync=(1, 2))

    def fetched(start: int) -> list[Effect]:
        return partition.fetched(0.1, 2, 5, log_start_offset=start, broker_epoch=1, eligible=True)

    partition.appended(0.0, 5)
    assert fetched(0) == [Advance(5), Trimmed()]
    assert fetched(0) == []
    assert fetched(3) == [Trimmed()]
    assert partition.followers[2].log_start_offset == 3
