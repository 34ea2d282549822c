"""Reading a shard's log from its start to its end into a machine."""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from ottla.coordination.log import ShardLog
from ottla.coordination.machine import Machine
from ottla.coordination.records import decode_entry
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import MalformedMessage
from ottla.wire.record_batch import (
    COMMIT_MARKER,
    BatchHeader,
    Record,
    iterate_batches,
    iterate_records,
    read_control_type,
)

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
RECORDS_PER_TURN = 500  # then others have their turn: some milliseconds
RETRY_LOAD_S = 1.0

M = TypeVar("M", bound=Machine)


async def load_new(new_machine: Callable[[], M], log: ShardLog, name: str) -> tuple[M, int]:
    """A machine that has everything, and the end offset that was reached. Again and again where
    the log cannot be read: while it is led here, nobody else can."""
    told = ""
    while True:
        machine = new_machine()
        try:
            return machine, await load(machine, log, name)
        except KafkaError as error:
            if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise
            if told != str(error):
                told = str(error)
                logger.warning("%s: cannot be loaded, and is tried again: %s", name, told)
        await asyncio.sleep(RETRY_LOAD_S)


async def load(machine: Machine, log: ShardLog, name: str) -> int:
    """Replay everything; the end offset that was reached. Other work goes on meanwhile."""
    offset = log.log_start_offset
    since_pause = records = 0
    while offset < log.log_end_offset:
        chunk = await log.read(offset, CHUNK_BYTES)
        before = offset
        for position, header in iterate_batches(chunk):
            if header.next_offset <= offset:
                continue
            for record in iterate_records(chunk, position, header):
                if record.offset < offset:
                    continue
                replay_record(machine, header, record, name)
                records += 1
                since_pause += 1
                if since_pause >= RECORDS_PER_TURN:  # one batch may have many thousands
                    since_pause = 0
                    await asyncio.sleep(0)
            offset = header.next_offset
        if offset == before:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"{name}: no whole batch could be read at {offset}."
            )
    if records:
        logger.info("%s: loaded %d records up to offset %d", name, records, offset)
    return offset


def replay_record(machine: Machine, header: BatchHeader, record: Record, name: str) -> None:
    if header.is_control:
        committed = read_control_type(record) == COMMIT_MARKER
        machine.replay_marker(header.producer_id, header.producer_epoch, committed)
        return
    if record.key is None:
        return
    try:
        entry = decode_entry(record.key, record.value, machine.RECORDS)
    except (MalformedMessage, KafkaError) as error:
        logger.error("%s: the record at offset %d is skipped: %s", name, record.offset, error)
        return
    if entry is None:
        logger.warning("%s: unknown kind of record at offset %d", name, record.offset)
        return
    producer_id = header.producer_id if header.is_transactional else -1
    machine.replay(record.offset, producer_id, *entry)
