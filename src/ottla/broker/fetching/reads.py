"""What one look at a request's partitions finds, within the bytes it may take.

Little that is in memory is read at once; what is much, or not in memory, is left for a thread.
Who may read what, and up to where, is the operation's affair.
"""

from collections.abc import Callable
from struct import Struct

from ottla.broker.fetching.response import Fetched
from ottla.broker.fetching.sessions import CachedPartition
from ottla.broker.transport.pending_reply import Buffer
from ottla.log.reading import Damage, Read
from ottla.replication.leader import Leader
from ottla.replication.readable_follower import ReadableFollower
from ottla.wire.messages.fetch import FetchPartition

_BATCH_BOUNDS = Struct(">qi11xi")  # base offset, length, last offset delta
Source = Leader | ReadableFollower
Transactions = list[tuple[int, int]]
"""Producer id and first offset of each."""


class Reads:
    __slots__ = ("bytes_left", "bytes_max", "cold", "fetched", "must_answer", "size", "sources")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.bytes_left = bytes_max
        self.size = 0  # of what was read at once
        self.fetched: list[tuple[CachedPartition, Fetched]] = []
        self.cold: list[tuple[Fetched, Read]] = []  # of these, what a thread has to read
        self.sources: list[Source] = []  # a request that waits watches them
        self.must_answer = False  # something has to be told, whatever was found

    def read(self, source: Source, wanted: FetchPartition, fetched: Fetched, upto: int) -> Read:
        """As much of one partition as the limits leave; a batch at least, if it is the first."""
        log = source.log
        bytes_max = max(min(wanted.partition_max_bytes, self.bytes_left), 0)
        read = log.read(
            wanted.fetch_offset,
            bytes_max,
            upto=upto,
            at_least_one=self.bytes_left == self.bytes_max,
        )
        self.sources.append(source)
        fetched.bounds_of(log)
        if read.cold:
            self.cold.append((fetched, read))
            self.bytes_left -= self._bytes_at_most(read, wanted)
        else:
            fetched.data = read.data
            size = len(read.data)
            self.size += size
            # Kafka's answers end in mid-batch where more was there: that part counts as well
            self.bytes_left -= max(size, bytes_max) if size and read.more else size
        return read

    def _bytes_at_most(self, read: Read, wanted: FetchPartition) -> int:
        if read.bytes_expected is not None:
            return read.bytes_expected
        return min(wanted.partition_max_bytes, self.bytes_left)

    def bytes_found(self, enough: int) -> int:
        found = self.size
        for _, read in self.cold:
            if read.bytes_expected is None:  # how much is not known yet, but it is something
                return max(found, enough)
            found += read.bytes_expected
        return found

    @property
    def bytes_stored(self) -> int:
        return sum(source.log.size for source in self.sources)

    # What a thread reads -----------------------------------------------------------------------

    def cold_reader(self) -> "Callable[[], list[Buffer | Damage]]":
        cold = self.cold
        return lambda: [read_or_damage(read) for _, read in cold]

    def take_cold(self, found: "list[Buffer | Damage]", damaged: int) -> None:
        for (fetched, _), data in zip(self.cold, found, strict=True):
            if isinstance(data, Damage):
                fetched.error = damaged
                continue
            fetched.data = data
            if fetched.aborted:
                fetched.aborted = begun_before(fetched.aborted, end_of(data))


def read_or_damage(read: Read) -> Buffer | Damage:
    try:
        return read.fetch_cold()
    except Damage as damage:
        return damage


def begun_before(aborted: Transactions, end: int) -> Transactions:
    """The aborted transactions whose first offset lies before the end."""
    return [one for one in aborted if one[1] < end]


def end_of(data: Buffer) -> int:
    """The offset after the last whole batch, or after the one that is cut short."""
    position, end, size = 0, 0, len(data)
    while position + _BATCH_BOUNDS.size <= size:
        base, length, delta = _BATCH_BOUNDS.unpack_from(data, position)
        end = base + delta + 1
        position += 12 + length
    return end
