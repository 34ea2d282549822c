"""Known hazards put back into real nodes: the checker must find each.

    PYTHONPATH=src:tests python -m system.faults.mutants NAME start server.properties

is a node with one function replaced by a wrong one, as a patch to its source would do it.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from ottla.broker.fetching.consumer import ConsumerFetch
from ottla.broker.producing.operation import ProduceOperation
from ottla.broker.producing.response import ProduceOutcome
from ottla.cli.main import main
from ottla.log import reading
from ottla.log.partition_log import PartitionLog
from ottla.log.producers import ProducerStates
from ottla.replication.fetcher import Fetcher
from ottla.replication.leader import ALL
from ottla.wire.record_batch import BatchHeader

REPLICATION_LAG_S = 0.3


def replicas_lag() -> None:
    """No hazard by itself: it makes the time longer in which others show."""
    right = Fetcher._round

    async def round_later(self: Fetcher, client: Any) -> None:
        await asyncio.sleep(REPLICATION_LAG_S)
        await right(self, client)

    Fetcher._round = round_later  # type: ignore[method-assign]


def acknowledges_before_it_is_committed() -> None:
    """Hazard 6: acks=all as if it were acks=1."""
    replicas_lag()
    ProduceOperation._is_unsafe = lambda self, outcome: False  # type: ignore[method-assign]


def reads_past_the_high_watermark() -> None:
    """Hazards 11 and 12: readers see what is not decided yet."""
    replicas_lag()
    end: Callable[[PartitionLog], int] = lambda log: log.log_end_offset  # noqa: E731
    PartitionLog.last_stable_offset = property(end)  # type: ignore[method-assign,assignment]


def takes_batches_twice() -> None:
    """Hazard 13: retries of what was appended are appended again."""
    replicas_lag()  # acknowledgements are outstanding when a leader dies

    def check(self: ProducerStates, header: BatchHeader, *, sequenced: bool) -> None:
        pass

    ProducerStates.find_duplicate = lambda self, header: None  # type: ignore[method-assign]
    ProducerStates.check = check  # type: ignore[method-assign]


def hides_what_was_aborted() -> None:
    """Hazard 12: read_committed without the list of aborted transactions."""
    ConsumerFetch._aborted = lambda *arguments: []  # type: ignore[method-assign]


def hands_out_flipped_bits() -> None:
    """Hazard 8: bytes are served as the disk gives them."""
    reading.sound_bytes = len  # type: ignore[assignment]


def acknowledges_after_its_leadership() -> None:
    """Hazard 3: a leader that was replaced meanwhile counts on as if nothing had happened."""
    replicas_lag()
    right = ProduceOperation._notice_change

    def notice_change(self: ProduceOperation, outcome: ProduceOutcome, expired: bool) -> None:
        leader = outcome.leader
        if self.request.acks == ALL and leader is not None:
            deposed, leader.deposed = leader.deposed, False
            right(self, outcome, expired)
            leader.deposed = deposed

    ProduceOperation._notice_change = notice_change  # type: ignore[method-assign]


MUTANTS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        acknowledges_before_it_is_committed,
        reads_past_the_high_watermark,
        takes_batches_twice,
        hides_what_was_aborted,
        hands_out_flipped_bits,
        acknowledges_after_its_leadership,
    )
}


if __name__ == "__main__":
    MUTANTS[sys.argv.pop(1)]()
    main()
