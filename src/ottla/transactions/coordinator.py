"""The transaction coordinator: requests in, decisions through the shards, markers out."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ottla.coordination.log import ShardLog
from ottla.coordination.machine import Decision, Instant, Ticket
from ottla.coordination.shard import Phase, Shard
from ottla.coordination.shards import Shards
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.ports.clock import Clock
from ottla.transactions import machine
from ottla.transactions.ledger import Ledger
from ottla.transactions.machine import EndTransaction, InitProducer
from ottla.transactions.markers import Leaders, Superseded, deliver
from ottla.transactions.states import Transaction

logger = logging.getLogger(__name__)

TOPIC = "__transaction_state"


class TransactionLimits(Struct, frozen=True, kw_only=True):
    """The coordinator's options."""

    max_timeout_ms: int = 900_000
    abort_interval_s: float = 10.0
    expiration_ms: int = 604_800_000
    expiration_interval_s: float = 3_600.0


class ProducerIds(Protocol):
    async def next(self) -> int: ...


FINAL = {
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
"""After these a producer is dead: only who still coordinates may say so."""


class Ending(NamedTuple):
    """One transaction whose end is decided, as long as a coordinator has one epoch."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class TransactionCoordinator:
    """One per broker. Everything happens on the event loop."""

    def __init__(
        self,
        *,
        producer_ids: ProducerIds,
        leaders: Leaders,
        clock: Clock,
        server_version: Callable[[], int],
        limits: TransactionLimits,
    ) -> None:
        self.shards: Shards[Ledger] = Shards(TOPIC, lambda _: Ledger(), clock)
        self._producer_ids = producer_ids
        self._leaders = leaders
        self._wall_ms = clock.wall_ms
        self._server_version = server_version
        self._limits = limits
        self._tasks: set[asyncio.Task[None]] = set()
        self._delivering: set[Ending] = set()
        self._unmarked: dict[Ending, set[TopicPartition]] = {}
        """Of what is being ended: the partitions whose marker is still to be written."""

    # --- leadership

    def elected(self, partition: int, log: ShardLog) -> None:
        """Load a shard; what was decided but not finished before is finished now."""
        loading = self.shards.elected(partition, log)
        self._forget_unmarked()
        self._spawn(self._resume(partition, loading))

    def resigned(self, partition: int) -> None:
        self.shards.resigned(partition)
        self._forget_unmarked()

    def _forget_unmarked(self) -> None:
        """Of what was given up for a while, as another coordinator ends it by now."""
        for name in self._unmarked.keys() - self._delivering:
            shard = self.shards.serving(name.transactional_id)
            if shard is None or shard.epoch != name.coordinator_epoch:
                del self._unmarked[name]

    def resize(self, partition_count: int) -> None:
        self.shards.resize(partition_count)

    async def _resume(self, partition: int, loading: asyncio.Task[None]) -> None:
        await asyncio.wait([loading])
        await self._finish_prepared(self.shards.at(partition))

    async def _finish_prepared(self, shard: Shard[Ledger]) -> None:
        """Send the markers of what was decided, if the decision itself cannot be lost any more:
        what was read from the log need not be committed yet, and another leader may not have it.
        """
        if shard.phase is not Phase.ACTIVE:
            return
        prepared = [each for each in shard.machine if each.state.is_ending]
        if prepared:
            await shard.submit(lambda ledger, now, _: Decision((), None))
            for transaction in prepared:
                if shard.machine.get(transaction.transactional_id) == transaction:
                    self._send_markers(shard, transaction)

    async def run(self) -> None:
        """Abort what takes too long and forget what nobody uses, until cancelled."""
        elapsed = 0.0
        while True:
            await asyncio.sleep(self._limits.abort_interval_s)
            elapsed += self._limits.abort_interval_s
            for shard in self._active():
                await self._guarded(self._finish_prepared(shard))  # whose last write failed
                await self._guarded(self._abort_late(shard))
            if elapsed >= self._limits.expiration_interval_s:
                elapsed = 0.0
                for shard in self._active():
                    await self._guarded(self._expire(shard))

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- requests

    async def init_producer(
        self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None
    ) -> Transaction:
        require_name(transactional_id)
        if not 0 < timeout_ms <= self._limits.max_timeout_ms:
            raise KafkaError(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"A transaction's time-out must lie between 1 and {self._limits.max_timeout_ms} ms "
                f"(transaction.max.timeout.ms), not {timeout_ms}.",
            )
        shard = self.shards.of(transactional_id)
        ask = InitProducer(
            transactional_id=transactional_id,
            timeout_ms=timeout_ms,
            expected=expected,
            server_version=self._server_version(),
        )
        spare = await self._spare_producer_id(shard, transactional_id)

        def step(current: Transaction | None, now_ms: int) -> machine.Step:
            return machine.init_producer(current, ask, now_ms, spare)

        code, transaction = await self._decide(shard, transactional_id, step)
        if code != ErrorCode.NONE:
            raise KafkaError(code, "The open transaction of the producer before is aborted first.")
        assert transaction is not None
        return transaction

    async def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        client_version: int = 0,
    ) -> None:
        require_name(transactional_id)

        def step(current: Transaction | None, now_ms: int) -> machine.Step:
            return machine.add_partitions(
                current, producer_id, producer_epoch, partitions, now_ms, client_version
            )

        await self._decide(self.shards.of(transactional_id), transactional_id, step)

    async def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether a leader may append to them. Nothing is written, but what is said is committed:
        a partition whose adding gets lost would never have its marker."""
        require_name(transactional_id)

        def look(
            ledger: Ledger, now: Instant, _: Ticket
        ) -> Decision[dict[TopicPartition, ErrorCode]]:
            current = ledger.get(transactional_id)
            codes = machine.verify_partitions(current, producer_id, producer_epoch, partitions)
            return Decision((), codes)

        return await self.shards.of(transactional_id).submit(look)

    async def end(self, transactional_id: str, ask: EndTransaction) -> Transaction:
        """The transaction after its end was decided; a client of version 2 goes on with its
        (new) producer id and epoch."""
        require_name(transactional_id)
        shard = self.shards.of(transactional_id)
        spare = await self._spare_producer_id(shard, transactional_id)

        def step(current: Transaction | None, now_ms: int) -> machine.Step:
            return machine.end(current, ask, now_ms, spare)

        _, transaction = await self._decide(shard, transactional_id, step)
        assert transaction is not None
        return transaction

    def describe(self, transactional_id: str) -> Transaction:
        """While it is being ended, a partition that has its marker is none of its any more."""
        require_name(transactional_id)
        shard = self.shards.of(transactional_id)
        found = shard.machine.get(transactional_id)
        if found is None:
            raise KafkaError(
                ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"No transaction of {transactional_id!r}."
            )
        left = self._unmarked.get(ending(found, shard.epoch))
        if left is None or not found.state.is_ending:
            return found
        return replace(found, partitions=frozenset(left))

    def transactions(self) -> Iterator[Transaction]:
        for shard in self._active():
            yield from shard.machine

    # --- inside

    async def _decide(
        self,
        shard: Shard[Ledger],
        transactional_id: str,
        step: Callable[[Transaction | None, int], machine.Step],
    ) -> tuple[ErrorCode, Transaction | None]:
        def decide(ledger: Ledger, now: Instant, _: Ticket) -> Decision[Any]:
            current = ledger.get(transactional_id)
            try:
                return ledger.decide(step(current, now.wall_ms), current)
            except KafkaError as refusal:
                if current is None or current.state.is_ending or refusal.code not in FINAL:
                    raise  # a decision is written once: its markers may be on their way
                return ledger.refuse(current, refusal)

        code, transaction = await shard.submit(decide)
        if transaction is not None and transaction.state.is_ending:
            self._send_markers(shard, transaction)
        return code, transaction

    async def _spare_producer_id(
        self, shard: Shard[Ledger], transactional_id: str
    ) -> Callable[[], int]:
        """A producer id in reserve where the decision may need one: deciding cannot wait."""
        current = shard.machine.get(transactional_id)
        if current is not None and not current.epochs_exhausted:
            return no_producer_id
        spare = await self._producer_ids.next()
        return lambda: spare

    def _send_markers(self, shard: Shard[Ledger], prepared: Transaction) -> None:
        name = ending(prepared, shard.epoch)
        if name in self._delivering:
            return
        self._delivering.add(name)
        self._spawn(self._finish(shard, prepared, name))

    async def _finish(self, shard: Shard[Ledger], prepared: Transaction, name: Ending) -> None:
        """Until it is done, or until this shard is not ours in this epoch any more."""
        epoch = name.coordinator_epoch
        left = self._unmarked.setdefault(name, set(prepared.partitions))
        is_over = True
        try:
            await deliver(prepared, epoch, self._leaders, left, lambda: shard.epoch == epoch)
            await shard.submit(lambda ledger, now, _: ledger.finish(prepared, now.wall_ms))
        except Superseded as error:
            logger.warning("Another coordinator has taken over: %s", error)
            is_over = shard.epoch != epoch
        finally:
            # At once: the next transaction of version 1 has the same epoch, hence the same name.
            self._delivering.discard(name)
            if is_over:
                del self._unmarked[name]

    async def _abort_late(self, shard: Shard[Ledger]) -> None:
        now_ms = self._wall_ms()
        version = self._server_version()
        for late in shard.machine:
            if not machine.has_timed_out(late, now_ms):
                continue
            spare = await self._spare_producer_id(shard, late.transactional_id)
            fenced = await shard.submit(
                partial(fence_late, late=late, version=version, spare=spare)
            )
            if fenced is not None:
                logger.info(
                    "%s is aborted: open for more than %d ms",
                    late.transactional_id,
                    late.timeout_ms,
                )
                self._send_markers(shard, fenced)

    async def _expire(self, shard: Shard[Ledger]) -> None:
        await shard.submit(
            lambda ledger, now, _: ledger.expire(now.wall_ms, self._limits.expiration_ms)
        )

    def _active(self) -> list[Shard[Ledger]]:
        return [shard for shard in self.shards if shard.phase is Phase.ACTIVE]

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except KafkaError as error:
            logger.info("Transactions are looked after again later: %s", error)
        except Exception:
            logger.exception("Transactions are looked after again later")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.info("Transactions are looked after again later: %s", error)


def ending(transaction: Transaction, coordinator_epoch: int) -> Ending:
    return Ending(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        coordinator_epoch,
    )


def require_name(transactional_id: str) -> None:
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A transactional id may not be empty.")


def fence_late(
    ledger: Ledger,
    now: Instant,
    _: Ticket,
    *,
    late: Transaction,
    version: int,
    spare: Callable[[], int],
) -> Decision[Transaction | None]:
    return ledger.fence(late, now.wall_ms, version, spare)


def no_producer_id() -> int:
    raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "The transaction has changed: try again.")
