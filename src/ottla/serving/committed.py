"""Which batches of a partition were committed: what was aborted is passed over. Pure."""

from collections.abc import Iterable, Iterator

from ottla.wire.messages.fetch import AbortedTransaction
from ottla.wire.record_batch import BatchHeader, Record, iterate_batches, iterate_records


def committed_batches(
    batches: bytes, aborted: Iterable[AbortedTransaction]
) -> Iterator[tuple[BatchHeader, Iterator[Record]]]:
    """Every batch, with those of its records that a reader may see.

    `aborted` is what the broker told with these batches; a transaction ends at its marker.
    """
    waiting = sorted(aborted, key=lambda one: one.first_offset)
    open_: set[int] = set()  # producers whose transaction was aborted in the end
    for position, header in iterate_batches(batches):
        while waiting and waiting[0].first_offset <= header.last_offset:
            open_.add(waiting.pop(0).producer_id)
        if header.is_control:
            open_.discard(header.producer_id)
        hidden = header.is_control or (header.is_transactional and header.producer_id in open_)
        yield header, iter(()) if hidden else iterate_records(batches, position, header)
