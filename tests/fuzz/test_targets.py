"""The targets of `make fuzz` with Hypothesis, briefly: on every run of the tests."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.seeds import seeds
from fuzz.targets import TARGETS, within_time

Edit = tuple[int, bytes]
EDITS = st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=6)), max_size=4)


def changed(seed: bytes, edits: list[Edit], keep: int) -> bytes:
    data = bytearray(seed[: max(keep, 1)])
    for at, new in edits:
        at %= len(data) + 1
        data[at : at + len(new)] = new
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_sound_message_is_taken(name: str) -> None:
    for seed in seeds(name):
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_of_any_kind_end_in_a_refusal(name: str) -> None:
    @given(st.binary(max_size=300))
    def holds(data: bytes) -> None:
        within_time(TARGETS[name], data)

    holds()


@pytest.mark.parametrize("name", TARGETS)
def test_a_sound_message_with_a_few_bytes_changed_ends_well_or_in_a_refusal(name: str) -> None:
    sound = seeds(name)
    target: Callable[[bytes], None] = TARGETS[name]

    @given(st.sampled_from(sound), EDITS, st.integers(0, 400))
    def holds(seed: bytes, edits: list[Edit], keep: int) -> None:
        within_time(target, changed(seed, edits, keep))

    holds()
