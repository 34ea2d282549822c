"""Which transactions a cleaner meets, and whether anything of them is left to be marked."""

from collections.abc import Iterable

from ottla.log.indexes import AbortedTransaction
from ottla.wire.compression import Buffer
from ottla.wire.record_batch import (
    ABORT_MARKER,
    COMMIT_MARKER,
    BatchHeader,
    iterate_records,
    read_control_type,
)


class TransactionsSeen:
    """Told of every batch from some offset on, in order, says which have no use any more.

    Records of aborted transactions have none, nor has a marker whose transaction has no records
    left in the log.
    """

    __slots__ = ("_aborted", "_committed", "_kept_aborts", "_upcoming")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._upcoming = sorted(aborted, key=lambda one: one.first_offset, reverse=True)
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}  # with "records were seen"
        self._committed: set[int] = set()  # producers with records of a committed transaction
        self._kept_aborts: list[AbortedTransaction] = []

    def discards(self, data: Buffer, header: BatchHeader) -> bool:
        while self._upcoming and self._upcoming[-1].first_offset <= header.last_offset:
            one = self._upcoming.pop()
            if one.last_offset >= header.base_offset:  # else it ended before the first batch shown
                self._aborted.setdefault(one.producer_id, (one, False))
        if header.is_control:
            return self._discards_marker(data, header)
        if not header.is_transactional:
            return False
        begun = self._aborted.get(header.producer_id)
        if begun is None:
            self._committed.add(header.producer_id)
            return False
        self._aborted[header.producer_id] = (begun[0], True)
        return True

    def _discards_marker(self, data: Buffer, header: BatchHeader) -> bool:
        record = next(iterate_records(data, 0, header), None) if header.count else None
        if record is None:
            return True
        match read_control_type(record):
            case kind if kind == ABORT_MARKER:
                begun = self._aborted.pop(header.producer_id, None)
                if begun is None or not begun[1]:
                    return True
                self._kept_aborts.append(begun[0])
                return False
            case kind if kind == COMMIT_MARKER:
                if header.producer_id not in self._committed:
                    return True
                self._committed.discard(header.producer_id)
        return False

    def take_kept_aborts(self) -> list[AbortedTransaction]:
        """Aborted transactions that the cleaned segment's index must go on naming."""
        kept, self._kept_aborts = self._kept_aborts, []
        return kept
