"""Producer states out of batches: as each is appended, or from all that lie in the log."""

from ottla.log.indexes import AbortedTransaction
from ottla.log.producer_snapshots import ProducerSnapshots
from ottla.log.producers import Marker, ProducerStates
from ottla.log.scanning import scan
from ottla.log.segment import Segment
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    BatchHeader,
    iterate_records,
    read_control_type,
    read_coordinator_epoch,
)


def read_marker(buffer: Buffer, position: int, header: BatchHeader) -> Marker | None:
    """The transaction marker in a control batch; None if cleaning left the batch empty."""
    for record in iterate_records(buffer, position, header):
        return Marker(read_control_type(record), read_coordinator_epoch(record), record.timestamp)
    return None


def apply_to_producers(
    producers: ProducerStates,
    segment: Segment,
    header: BatchHeader,
    marker: Marker | None,
    *,
    index: bool = True,
) -> None:
    """Bring producers and (unless it has it) the transaction index up to a batch."""
    if not header.is_control:
        producers.apply(header)
        return
    if marker is None:
        return
    completed = producers.apply_marker(header, marker)
    if completed is None:
        return
    if completed.aborted and index:
        segment.aborted.append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                producers.last_stable_offset_after(completed),
            )
        )
    producers.complete(completed)


def rebuild_producers(
    producers: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: list[Segment],
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
) -> None:
    """States from the newest usable snapshot, then from the batches behind it."""
    snapshots.remove_outside(log_start_offset, log_end_offset)
    loaded = snapshots.load_latest()
    if loaded is None:
        producers.replace({}, log_start_offset)
    else:
        offset, states = loaded
        alive = {
            producer_id: state
            for producer_id, state in states.items()
            if not producers.is_expired(state, now_ms)
        }
        producers.replace(alive, offset)
    start = producers.end_offset
    for n, segment in enumerate(segments):
        end = segments[n + 1].base_offset if n + 1 < len(segments) else log_end_offset
        if end > start:
            _replay(producers, segment, start)
    producers.end_offset = log_end_offset


def _replay(producers: ProducerStates, segment: Segment, start: int) -> None:
    found = segment.find(max(start, segment.base_offset))
    if found is None:
        return
    handle = segment.handle
    known = {aborted.last_offset for aborted in segment.aborted.entries}
    for position, header in scan(handle, found[0], segment.size):
        if header.producer_id < 0 or header.base_offset < start:
            continue
        marker = None
        if header.is_control:
            marker = read_marker(handle.read(position, header.size), 0, header)
        apply_to_producers(
            producers, segment, header, marker, index=header.base_offset not in known
        )
