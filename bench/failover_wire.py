"""A coordinator asked without a client library: what is left of a fail-over is the broker's part.

librdkafka looks for a transaction's new coordinator half a second after it lost the old one
(`rd_kafka_txn_coord_timer_start`), and for a group's at intervals of that length. This client asks
the nodes one after the other until one names a coordinator that answers.
"""

import itertools
import time
from abc import abstractmethod

from bench.failover_loads import GROUP, TOPIC, TRANSACTIONAL_ID, Load
from bench.reach import Reach
from support.wire import Connection

PAUSE_S = 0.01
PATIENCE_S = 2.0


class Asks(Load):
    """One question after the other to the coordinator of a key."""

    key = ""
    kind = 0

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(reach, first)
        self._places = itertools.cycle(reach.bootstrap.split(","))

    def run(self) -> None:
        connection: Connection | None = None
        while not self.done.is_set():
            try:
                connection = connection or self._coordinator()
                if connection is not None and self.ask(connection):
                    self.moments.append(time.perf_counter())
                    self.acknowledged.append(self.next)
                    self.next += 1
                    self.done.wait(PAUSE_S)
                    continue
            except OSError:
                pass
            if connection is not None:
                connection.socket.close()
                connection = None
            self.done.wait(PAUSE_S)

    def _coordinator(self) -> Connection | None:
        with Connection(next(self._places), PATIENCE_S) as asked:
            found = asked.ask("find_coordinator", 3, key=self.key, key_type=self.kind)
        if found.error_code:
            return None
        return Connection(f"{found.host}:{found.port}", PATIENCE_S)

    @abstractmethod
    def ask(self, connection: Connection) -> bool:
        """Whether it was done."""


class WireCommits(Asks):
    key = GROUP

    def ask(self, connection: Connection) -> bool:
        part = {"partition_index": 0, "committed_offset": self.next}
        answer = connection.ask(
            "offset_commit",
            8,
            group_id=GROUP,
            generation_id_or_member_epoch=-1,
            topics=[{"name": TOPIC, "partitions": [part]}],
        )
        return not answer.topics[0].partitions[0].error_code


class WireTransactions(Asks):
    """A producer that begins anew again and again: each time is a record of its coordinator."""

    key = TRANSACTIONAL_ID
    kind = 1

    def ask(self, connection: Connection) -> bool:
        answer = connection.ask(
            "init_producer_id",
            4,
            transactional_id=TRANSACTIONAL_ID,
            transaction_timeout=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        return not answer.error_code
