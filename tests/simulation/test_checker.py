"""The checker finds each anomaly in the smallest history that has it, and none in clean ones."""

from ottla.simulation.checker import Anomalies, Op, Outcome, Poll, Send, check

ALL = Op(9, (Poll({"k": ((0, 1), (1, 2), (2, 3))}),))
"""What is read of everything at the end."""


def names(*ops: Op) -> list[str]:
    return sorted(check(ops))


def test_a_clean_history_has_no_anomaly() -> None:
    history = (
        Op(1, (Send("k", 1, 0), Send("k", 2, 1))),
        Op(2, (Poll({"k": ((0, 1),)}),)),
        Op(2, (Poll({"k": ((1, 2),)}), Send("k", 3, 2))),
        Op(3, (Send("k", 4),), Outcome.FAIL),
        Op(3, (Send("k", 5),), Outcome.INFO),
        ALL,
    )
    assert check(history) == {}


def test_a_refusal_that_is_never_right_is_found_and_others_are_not() -> None:
    fenced = Op(1, (), Outcome.INFO, told=frozenset({"_FENCED", "_TIMED_OUT"}))
    assert names(fenced, ALL) == []
    refused = Op(1, (), Outcome.INFO, told=frozenset({"INVALID_TXN_STATE"}))
    assert check((refused, ALL)) == {"wrong-refusal": ["process 1 was told INVALID_TXN_STATE"]}


def test_an_acknowledged_value_that_readers_passed_is_lost() -> None:
    found: Anomalies = check((Op(1, (Send("k", 7, 1),)), Op(9, (Poll({"k": ((0, 1), (2, 3))}),))))
    assert found == {"lost-write": ["7 was sent to k at 1 and is gone"]}


def test_a_transaction_seen_in_part_has_lost_the_rest() -> None:
    torn = Op(1, (Send("k", 1), Send("l", 8)), Outcome.INFO)
    assert names(torn, ALL) == ["lost-write"]


def test_an_acknowledged_value_at_the_end_that_nobody_reads_is_unseen() -> None:
    assert names(Op(1, (Send("k", 4, 3),)), ALL) == ["unseen"]


def test_a_value_at_two_offsets_is_a_duplicate() -> None:
    assert names(Op(9, (Poll({"k": ((0, 1), (1, 1))}),))) == ["duplicate"]


def test_two_values_at_one_offset_are_inconsistent() -> None:
    assert names(Op(1, (Send("k", 5, 0),)), Op(1, (Send("k", 1),)), ALL) == [
        "inconsistent-offsets",
        "lost-write",
    ]


def test_what_was_never_committed_must_not_be_read() -> None:
    assert names(Op(1, (Send("k", 2),), Outcome.FAIL), ALL) == ["G1a"]


def test_an_operation_must_not_read_what_it_has_yet_to_commit() -> None:
    assert names(Op(1, (Send("k", 1, 0), Poll({"k": ((0, 1),)}))), ALL) == ["precommitted-read"]


def test_later_values_of_a_process_lie_behind_earlier_ones() -> None:
    assert names(Op(1, (Send("k", 3, 2),)), Op(1, (Send("k", 2, 1),)), ALL) == ["nonmonotonic-send"]
    assert names(Op(1, (Send("k", 3, 2), Send("k", 2, 1))), ALL) == ["nonmonotonic-send"]


def test_a_poll_passes_over_nothing_that_others_read() -> None:
    assert names(Op(1, (Poll({"k": ((0, 1), (2, 3))}),)), ALL) == ["int-poll-skip"]
    first, second = Op(1, (Poll({"k": ((0, 1),)}),)), Op(1, (Poll({"k": ((2, 3),)}),))
    assert names(first, second, ALL) == ["poll-skip"]
    assert names(first, second._replace(assigned=1), ALL) == []


def test_polls_do_not_go_back() -> None:
    assert names(Op(1, (Poll({"k": ((1, 2),)}), Poll({"k": ((0, 1),)}))), ALL) == [
        "int-nonmonotonic-poll"
    ]
    assert names(Op(1, (Poll({"k": ((1, 2),)}),)), Op(1, (Poll({"k": ((1, 2),)}),)), ALL) == [
        "nonmonotonic-poll"
    ]


def test_two_operations_must_not_read_each_others_writes() -> None:
    one = Op(1, (Send("k", 1, 0), Poll({"l": ((0, 8),)})))
    other = Op(2, (Send("l", 8, 0), Poll({"k": ((0, 1),)})))
    assert names(one, other, ALL) == ["G1c"]
