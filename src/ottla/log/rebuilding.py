"""Producer states out of batches: as each is appended, or from all that lie in the log."""

from ottla.log.indexes import AbortedTransaction
from ottla.log.producer_snapshots import ProducerSnapshots, encode_snapshot
from ottla.log.producers import BATCHES_KEPT, Marker, ProducerStates, is_expired, sequenced
from ottla.log.scanning import scan
from ottla.log.segment import Segment
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    BatchHeader,
    iterate_records,
    read_control_type,
    read_coordinator_epoch,
)

WINDOW_SEARCH_BYTES = 4 * 1024 * 1024


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
                producers.transactions.last_stable_offset_after(completed),
            )
        )
    producers.transactions.complete(completed)


def rebuild_producers(
    producers: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: list[Segment],
    log_start_offset: int,
    log_end_offset: int,
    oldest_ms: int,
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
            if not is_expired(state, oldest_ms)
        }
        producers.replace(alive, offset)
        refill_windows(producers, segments, offset)
    start = producers.end_offset
    for n, segment in enumerate(segments):
        if n >= len(segments) - 2 and segment.base_offset > start:
            # Kafka expects snapshots at the last two segments: a truncation starts from them.
            snapshots.write(segment.base_offset, encode_snapshot(producers.states))
        end = segments[n + 1].base_offset if n + 1 < len(segments) else log_end_offset
        if end > start:
            _replay(producers, segment, start)
    producers.end_offset = log_end_offset


def refill_windows(producers: ProducerStates, segments: list[Segment], offset: int) -> None:
    """A snapshot has only each producer's last batch; find the others that a retry may repeat.

    They lie shortly before the snapshot's offset, if they are of any use: a producer has at most
    five requests under way.
    """
    wanted = {pid: state for pid, state in producers.states.items() if len(state.batches) == 1}
    if not wanted:
        return
    before = [segment for segment in segments if segment.base_offset < offset]
    earlier: dict[int, list[BatchHeader]] = {}
    left = WINDOW_SEARCH_BYTES
    for segment in reversed(before):
        found = segment.find(offset)
        stop = segment.size if found is None else found[0]
        start = segment.index.position_before(stop - left)
        here: dict[int, list[BatchHeader]] = {}
        for _, header in scan(segment.handle, start, stop):
            state = wanted.get(header.producer_id)
            if state is not None and state.epoch == header.producer_epoch and header.count:
                here.setdefault(header.producer_id, []).append(header)
        for producer_id, headers in here.items():
            earlier[producer_id] = headers + earlier.get(producer_id, [])
        left -= stop - start
        if left <= 0:
            break
    for producer_id, headers in earlier.items():
        last = wanted[producer_id].batches[-1]
        window = [h for h in headers if not h.is_control and h.last_offset < last.first_offset]
        wanted[producer_id].batches = [
            *(sequenced(header) for header in window[1 - BATCHES_KEPT :]),
            last,
        ]


def _replay(producers: ProducerStates, segment: Segment, start: int) -> None:
    found = segment.find(max(start, segment.base_offset))
    if found is None:
        return
    handle = segment.handle
    known = {aborted.last_offset for aborted in segment.aborted}
    for position, header in scan(handle, found[0], segment.size):
        if header.producer_id < 0 or header.base_offset < start:
            continue
        marker = None
        if header.is_control:
            marker = read_marker(handle.read(position, header.size), 0, header)
        apply_to_producers(
            producers, segment, header, marker, index=header.base_offset not in known
        )
