"""Transactions that hold back the last stable offset of a log. Pure."""

from collections.abc import Iterable
from typing import NamedTuple


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    aborted: bool


class OpenTransactions:
    """By first offset, in rising order: transactions are begun at the log's end."""

    __slots__ = ("_ongoing", "_unreplicated")

    def __init__(self, ongoing: Iterable[tuple[int, int]] = ()) -> None:
        """`ongoing` are first offsets and producer ids."""
        self._ongoing: dict[int, int] = dict(sorted(ongoing))  # → producer id
        self._unreplicated: dict[int, int] = {}
        """→ offset of the marker, which is in the log, at the high watermark or above it."""

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction began whose end is not committed."""
        ongoing = next(iter(self._ongoing), None)
        if not self._unreplicated:
            return ongoing
        unreplicated = min(self._unreplicated)
        return unreplicated if ongoing is None else min(ongoing, unreplicated)

    def begin(self, first_offset: int, producer_id: int) -> None:
        self._ongoing[first_offset] = producer_id

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """What the txn index records: the next open transaction, or the offset past the marker."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Until the marker is replicated the transaction still holds back the stable offset."""
        if self._ongoing.pop(completed.first_offset, None) is not None:
            self._unreplicated[completed.first_offset] = completed.last_offset

    def advance_high_watermark(self, high_watermark: int) -> None:
        if self._unreplicated:
            self._unreplicated = {
                first: last for first, last in self._unreplicated.items() if last >= high_watermark
            }
