"""Bits that a disk flipped: no reader sees them, and the log says where they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.log.config import LogConfig
from ottla.log.partition_log import PartitionLog
from ottla.log.reading import Damage
from support.log_batches import NOW, append, values_from

Open = Callable[..., PartitionLog]
BIT = 0x10


def damaged(log: PartitionLog, number: int, at: int) -> PartitionLog:
    """Five batches of one record each, one of them with a byte changed, none in memory."""
    for n in range(5):
        append(log, b"value %d" % n)
    path = Path(log.active.log_path)
    data = bytearray(path.read_bytes())
    data[number * len(data) // 5 + at] ^= BIT
    path.write_bytes(data)
    log.tail.clear(log.log_end_offset, log.size)
    return log


@pytest.mark.parametrize("at", [61, 70, 30, 17, 10])  # records, timestamp, checksum, length
def test_a_reader_gets_what_lies_before_the_damage_and_nothing_of_it(
    open_orders: Open, at: int
) -> None:
    log = damaged(open_orders(), 2, at)
    with pytest.raises(Damage) as found:
        values_from(log, 0)
    assert found.value.offset == 2
    assert log.damage is found.value
    log.truncate_to(found.value.offset, now_ms=NOW)
    assert values_from(log, 0) == [b"value 0", b"value 1"]


def test_a_length_that_cannot_be_is_damage_and_ends_a_search(open_orders: Open) -> None:
    log = open_orders(LogConfig(index_interval_bytes=1 << 20))
    for n in range(5):
        append(log, b"value %d" % n)
    path = Path(log.active.log_path)
    data = bytearray(path.read_bytes())
    data[8] = 0xFF  # the sign of the first batch's length
    path.write_bytes(data)
    log.tail.clear(log.log_end_offset, log.size)
    with pytest.raises(Damage) as found:
        log.read(3, 1000, upto=5)
    assert found.value.offset == 0


def test_a_log_is_cut_at_its_damage_and_goes_on_from_there(open_orders: Open) -> None:
    log = damaged(open_orders(), 2, 61)
    with pytest.raises(Damage) as found:
        values_from(log, 0)
    log.truncate_to(found.value.offset, now_ms=NOW)
    assert log.log_end_offset == 2
    append(log, b"again")
    assert values_from(log, 0) == [b"value 0", b"value 1", b"again"]
