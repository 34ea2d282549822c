"""Which log is cleaned, and when, in a child; one that cannot be keeps no other from it."""

import asyncio
import os
from pathlib import Path

import pytest

from ottla.errors import OttlaError
from ottla.ids import TopicPartition
from ottla.log.cleaning import clean
from ottla.log.compaction import (
    RETRY_MS,
    Compactor,
    dirtiness,
    plan_cleaning,
)
from ottla.log.directory import LogDirectory
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.reading import Damage
from support.ids import new_uuid
from support.log_batches import NOW
from unit.log.compacting import (
    COMPACTED,
    Open,
    compact,
    everything,
    put,
)


def test_the_dirtiest_log_of_a_directory_is_cleaned_in_a_child(
    tmp_path: Path, resources: LogResources
) -> None:
    directory = LogDirectory(tmp_path, resources)
    directory.open_all(lambda topic: COMPACTED, now_ms=NOW)
    name = TopicPartition("compacted", 0)
    log = directory.create(name, new_uuid(), COMPACTED, now_ms=NOW)
    for n in range(30):
        put(log, (b"a", b"%d" % n))
    compactor = Compactor(directory)
    with asyncio.Runner() as runner:
        assert runner.run(compactor.clean_dirtiest(NOW)) == name
        assert log.cleaned_upto == log.active.base_offset
        assert runner.run(compactor.clean_dirtiest(NOW)) is None
    assert everything(log)[-1].value == b"29"
    assert len(everything(log)) < 10


def test_one_child_cleans_until_nothing_is_left_to_clean(
    tmp_path: Path, resources: LogResources
) -> None:
    directory = LogDirectory(tmp_path, resources)
    names = [TopicPartition("first", 0), TopicPartition("second", 0)]
    for name in names:
        log = directory.create(name, new_uuid(), COMPACTED, now_ms=NOW)
        for n in range(30):
            put(log, (b"a", b"%d" % n))

    async def scenario() -> None:
        compactor, children = Compactor(directory), set()
        for _ in names:
            assert await compactor.clean_dirtiest(NOW) in names
            children.add(compactor.child)
        (child,) = children
        assert child is not None
        assert await compactor.clean_dirtiest(NOW) is None
        assert compactor.child is None

    asyncio.run(scenario())


def test_what_an_earlier_cleaning_set_aside_is_gone_before_the_next_takes_its_place(
    open_orders: Open,
) -> None:
    log = open_orders(COMPACTED)
    for n in range(10):
        put(log, (b"a", b"%d" % n))
    log.roll(NOW)
    compact(log)
    aside = list(log.path.glob("*.deleted"))
    assert aside
    put(log, (b"a", b"again"))
    log.roll(NOW)
    clean(plan_cleaning(log, dirtiness(log, NOW), NOW))
    assert not any(path.exists() for path in aside if path.name.startswith("0" * 20))


def flip_a_bit(log: PartitionLog, offset: int) -> None:
    """In a record, as a disk might."""
    segment = log.segments[log.segment_number(offset)]
    found = segment.find(offset)
    assert found is not None
    at = found[0] + found[1] - 3
    (byte,) = segment.handle.read(at, 1)
    os.pwrite(segment.handle.fd, bytes([byte ^ 1]), at)


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_segment_that_is_damaged_is_left_to_whoever_can_mend_it(
    open_orders: Open, cleaned: bool
) -> None:
    log = open_orders(COMPACTED)
    for n in range(10):
        put(log, (b"%d" % n, b"v%d" % n))
    log.roll(NOW)
    if cleaned:
        compact(log)
        put(log, (b"9", b"new"))
        log.roll(NOW)
    flip_a_bit(log, 3)
    before = [(segment.base_offset, segment.size) for segment in log.segments]
    with pytest.raises(Damage) as found:
        compact(log)
    assert found.value.offset == 3
    assert [(segment.base_offset, segment.size) for segment in log.segments] == before


def test_a_segment_of_a_format_too_old_is_not_damaged_but_cannot_be_cleaned(
    open_orders: Open,
) -> None:
    log = open_orders(COMPACTED)
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    log.roll(NOW)
    os.pwrite(log.segments[0].handle.fd, b"\1", 16)
    with pytest.raises(OttlaError, match="offset 0 is in a format before"):
        compact(log)


def test_a_log_that_cannot_be_cleaned_keeps_no_other_from_it(
    tmp_path: Path, resources: LogResources, caplog: pytest.LogCaptureFixture
) -> None:
    directory = LogDirectory(tmp_path, resources)
    names = [TopicPartition("damaged", 0), TopicPartition("sound", 0)]
    damaged, sound = (directory.create(one, new_uuid(), COMPACTED, now_ms=NOW) for one in names)
    for n in range(30):
        put(damaged, (b"%d" % n, b"%d" % n))
        put(sound, (b"a", b"%d" % n))
    flip_a_bit(damaged, 9)
    compactor = Compactor(directory)

    runner = asyncio.Runner()

    def turned_to(now_ms: int) -> TopicPartition | None:
        return runner.run(compactor.clean_dirtiest(now_ms))

    assert [turned_to(NOW) for _ in names] == names
    assert [turned_to(NOW) for _ in names] == [None, None], "it is not tried over and over"
    assert damaged.damage is not None
    assert damaged.damage.offset == 9
    assert "damaged-0 cannot be cleaned" in caplog.text
    assert list(damaged.path.glob("*.cleaned")) == []
    assert len(everything(sound)) < 10
    assert turned_to(NOW + RETRY_MS) == names[0], "but once in a while"
    damaged.truncate_to(9, now_ms=NOW)  # as whoever mends it does
    for n in range(9, 30):
        put(damaged, (b"%d" % n, b"%d" % n))
    assert turned_to(NOW + RETRY_MS) == names[0], "and when it is another"
    assert damaged.cleaned_upto == damaged.active.base_offset
    runner.run(compactor.stop())
    runner.close()
