"""Orders that Java's documentation does not promise, and its collections have all the same."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.groups.java_order import PriorityQueue, hash_map_order


def test_short_names_come_by_their_letters_and_wrap_at_the_last_bucket() -> None:
    assert hash_map_order(["C", "A", "B"]) == ["A", "B", "C"]
    assert hash_map_order(["A", "P", "Q"]) == ["P", "A", "Q"]  # 80 is 0 of 16, 65 and 81 are 1


def test_a_map_that_grew_has_another_order() -> None:
    assert hash_map_order(["P", "A"], capacity=16) == ["P", "A"]
    assert hash_map_order(["P", "A"], capacity=64) == ["A", "P"]


def polled(queue: PriorityQueue[str]) -> str:
    taken = ""
    while queue:
        taken += queue.poll()
    return taken


def test_equals_come_in_the_order_in_which_the_heap_is_sifted() -> None:
    assert polled(PriorityQueue("abcd", lambda _: 0)) == "adcb"


@given(st.lists(st.integers(0, 5)))
def test_the_least_comes_first(ranks: list[int]) -> None:
    queue = PriorityQueue(ranks, float)
    assert [queue.poll() for _ in ranks] == sorted(ranks)
