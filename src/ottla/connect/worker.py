"""A worker: the herder's driver. It performs effects, one connector's after each other.

Whoever leads has runs; the others have none, and are ready to lead.
"""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ottla.client.connection import Connection
from ottla.connect import herder, plugins, records
from ottla.connect.connector import ConnectError, Plugin, TopicPartition, adopt_group
from ottla.connect.herder import Effect, Event, Herder, TaskConfigs
from ottla.connect.providers import Providers
from ottla.connect.records import KeyAndValue, Status
from ottla.connect.redaction import Redaction
from ottla.connect.runs.offsets import StoredOffsets, read_offsets
from ottla.connect.runs.run import Run, RunEvent, Runner, RunPlan
from ottla.connect.settings import Settings
from ottla.connect.state import ClusterState, ConfigChanged, LoggerSet
from ottla.connect.store import Store
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.errors import RestError
from ottla.serving.leadership import Leadership
from ottla.serving.producing import Fenced, RecordTooLarge, Unwritten

_log = logging.getLogger(__name__)
_SETTLED_S = 10.0
_LONG_S = 3.0
FOLLOWER_READY_S = 10.0
_STOPPED_S = 15.0  # more than a job is given to end by itself
STALE = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a "
    "concurrent config change)"
)
Write = Callable[[Sequence[KeyAndValue]], Awaitable[None]]


@dataclass(slots=True)
class _Hand:
    """What is to be done for one connector, and its run."""

    effects: asyncio.Queue[Effect] = field(default_factory=asyncio.Queue)
    run: Run | None = None
    task: asyncio.Task[None] | None = None


class Worker:
    def __init__(
        self, settings: Settings, connection: Connection, runner: Runner, worker_id: str
    ) -> None:
        self.settings = settings
        self.worker_id = worker_id
        self.connection = connection
        self.runner = runner
        self.providers = Providers(
            settings["config.providers"], settings.below("config.providers.")
        )
        self.store = Store(settings, connection, self._step)
        self.leadership: Leadership | None = None  # set before anything is led
        self.generation: Callable[[], int] = lambda: 0
        self._herder = Herder(self.store.state)
        self._hands: dict[str, _Hand] = {}
        self._leading = False
        self._waking: asyncio.TimerHandle | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._prepares_later: asyncio.TimerHandle | None = None
        self.on_logger: Callable[[str, str], None] = lambda name, level: None

    @property
    def state(self) -> ClusterState:
        return self.store.state

    # --- leading

    async def begin(self) -> None:
        """Again and again while it leads: what runs goes on."""
        await self.store.lead()
        if not self._leading:
            self._leading = True
            self._step(herder.Led())

    def end(self) -> None:
        """Another leads, or may: nothing is written any more."""
        self.store.follow()
        if self._leading:
            self._leading = False
            self._step(herder.Lost())

    async def stop(self) -> None:
        """In good order: runs have ended, and their states are told, when this returns. Where
        nobody can be told, since no broker answers, runs have ended all the same."""
        if self._leading:
            self._step(herder.Stopping())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOPPED_S):
                await self.idle()
        self._leading = False
        for hand in self._hands.values():
            if hand.task is not None:
                hand.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await hand.task
        await self.prepared()
        await asyncio.to_thread(self.runner.close)

    # --- being ready

    def prepare(self) -> None:
        """What runs need is started before there are any; once."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(asyncio.to_thread(self.runner.prepare))

    def _prepare_later(self) -> None:
        """Whoever follows is ready to take over; but first the leader's runs have the machine."""
        if self._preparing is None and self._prepares_later is None and not self._leading:
            loop = asyncio.get_running_loop()
            self._prepares_later = loop.call_later(FOLLOWER_READY_S, self.prepare)

    async def prepared(self) -> None:
        """Nothing is being prepared any more, nor will be."""
        if self._prepares_later is not None:
            self._prepares_later.cancel()
        if self._preparing is not None:
            await self._preparing

    async def idle(self) -> None:
        """Until all effects so far are performed."""
        for hand in list(self._hands.values()):
            await hand.effects.join()

    async def settled(self, name: str) -> None:
        """Until a connector's effects so far are performed, or that takes long."""
        hand = self._hands.get(name)
        if hand is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LONG_S):
                    await hand.effects.join()

    def ask(self, event: Event) -> None:
        self._step(event)

    async def write_configs(self, what: Sequence[KeyAndValue]) -> None:
        """409 where it is not known whether it was written."""
        await self._write_once(self.store.write_configs, what)

    async def write_statuses(self, what: Sequence[KeyAndValue]) -> None:
        await self._write_once(self.store.write_statuses, what)

    async def source_offsets(self, name: str) -> list[tuple[Any, Any]]:
        """Source partitions, and where each stands."""
        await self.store.catch_up_offsets()
        held = self.state.offsets.of(name)
        topic = await self._own_offsets_topic(name)
        if topic is None:
            return held
        own = await asyncio.to_thread(read_offsets, self.connection, topic, name)
        stored = StoredOffsets(name)
        stored.lay((place, at) for place, at in held if place is not None)
        stored.lay(own.all())
        return list(stored.all())

    async def write_source_offsets(self, name: str, what: Sequence[tuple[Any, Any]]) -> None:
        """Of a source whose former tasks are fenced."""
        written = [records.offset(name, partition, offset) for partition, offset in what]
        topic = await self._own_offsets_topic(name)
        await self._write_once(self.store.write_offsets, written)
        if topic is not None and written:
            try:
                await self.store.write_own(name, topic, written)
            except (Fenced, Unwritten):
                raise RestError(409, 409, STALE) from None

    async def _own_offsets_topic(self, name: str) -> str | None:
        """Made where it is missing. OttlaError for one that cannot hold offsets."""
        said = self.state.config(name) or {}
        named = said.get("offsets.storage.topic")
        if not named:
            return None
        resolved = await asyncio.to_thread(self.providers.resolve, {"topic": named})
        topic = resolved["topic"]
        if topic == self.settings["offset.storage.topic"]:
            return None
        await self.store.ensure_own(topic)
        return topic

    async def _write_once(self, write: Write, what: Sequence[KeyAndValue]) -> None:
        try:
            if what:
                await write(what)
        except RecordTooLarge:
            raise RestError(413, 413, "The record is larger than the broker takes.") from None
        except (Fenced, Unwritten):
            assert self.leadership is not None
            self.leadership.stumbled()
            raise RestError(409, 409, STALE) from None

    def _step(self, event: Event) -> None:
        if isinstance(event, LoggerSet):
            self.on_logger(event.logger, event.level)
        if isinstance(event, ConfigChanged):
            self._prepare_later()
        for effect in self._herder.step(SYSTEM_CLOCK.monotonic(), event):
            hand = self._hands.setdefault(effect.name, _Hand())
            if hand.task is None:
                hand.task = asyncio.create_task(
                    self._perform_all(hand), name=f"connector {effect.name}"
                )
            hand.effects.put_nowait(effect)
        self._wake_in_time()

    def _wake_in_time(self) -> None:
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        due = self._herder.next_retry
        if due is not None:
            delay = max(0.0, due - SYSTEM_CLOCK.monotonic())
            loop = asyncio.get_running_loop()
            self._waking = loop.call_later(delay, self._step, herder.Tick())

    # --- effects

    async def _perform_all(self, hand: _Hand) -> None:
        while True:
            effect = await hand.effects.get()
            try:
                await self._perform(hand, effect)
            except Exception:
                _log.exception("%s could not be done", effect)
            finally:
                hand.effects.task_done()

    async def _perform(self, hand: _Hand, effect: Effect) -> None:
        match effect:
            case herder.Prepare(name=name, run=run):
                await self._prepare(name, run)
            case herder.Publish(name=name, tasks=tasks):
                await self._write(self.store.write_configs, records.tasks_of(name, tasks))
                await self._write(self.store.write_configs, [records.commit(name, len(tasks))])
            case herder.Launch(name=name, run=run, tasks=tasks):
                await self._launch(hand, name, run, tasks)
            case herder.Halt():
                if hand.run is not None:
                    stopped, hand.run = hand.run, None
                    await asyncio.to_thread(stopped.stop)
            case herder.Tell(name=name, task=task, state=state, trace=trace):
                status = self._status(name, state, trace)
                record = (
                    records.connector_status(name, status)
                    if task is None
                    else records.task_status(name, task, status)
                )
                await self._write(self.store.write_statuses, [record])
            case herder.Forget():
                await self._forget(effect)
            case herder.Use(name=name, topic=topic):
                if self.settings["topic.tracking.enable"]:
                    used = records.topic_status(name, topic, at_ms=SYSTEM_CLOCK.wall_ms())
                    await self._write(self.store.write_statuses, [used])

    async def _write(self, write: Write, what: Sequence[KeyAndValue]) -> None:
        """Until it is written, or another leads."""
        while what and self._leading:
            try:
                return await write(what)
            except (Fenced, Unwritten) as error:
                _log.warning("a record is written again: %s", error)
            assert self.leadership is not None
            self.leadership.stumbled()
            if await self.leadership.settled(_SETTLED_S) not in ("", None):
                return None
        return None

    async def _forget(self, effect: herder.Forget) -> None:
        name = effect.name
        forgotten = [records.task_status(name, index, None) for index in effect.tasks]
        if effect.whole:
            topics = self.state.statuses.topics.get(name, {})
            forgotten += [records.topic_unused(name, topic) for topic in topics]
            forgotten.append(records.connector_status(name, None))
        await self._write(self.store.write_statuses, forgotten)

    def _status(self, name: str, state: str, trace: str | None) -> Status:
        plugin = self.plugin_of(name)
        return Status(
            state=state,
            trace=trace,
            worker_id=self.worker_id,
            generation=self.generation(),
            version=None if plugin is None else plugin.version,
        )

    def plugin_of(self, name: str) -> Plugin | None:
        config = self.state.config(name) or {}
        try:
            return plugins.find(config.get("connector.class") or "")
        except ConnectError:
            return None

    # --- runs

    async def _prepare(self, name: str, run: int) -> None:
        config = self.state.config(name)
        if config is None:
            return
        said = {key: value for key, value in config.items() if value is not None}
        try:
            tasks = await asyncio.to_thread(self.task_configs, said)
        except Exception as error:
            self._step(herder.Broken(name, run, self._redacted(said, _trace(error))))
        else:
            self._step(herder.Prepared(name, run, tasks))

    def task_configs(self, config: dict[str, str]) -> TaskConfigs:
        """What each task would be told, with secrets where they stood: as references."""
        resolved = self.providers.resolve(config)
        plugin = plugins.find(config["connector.class"])
        made = (plugins.source if plugin.kind == "source" else plugins.sink)(resolved)
        maximum = int(resolved.get("tasks.max", "1"))
        more = {"task.class": task_class(config["connector.class"], plugin)}
        return [
            {**{key: config.get(key, value) for key, value in one.items()}, **more}
            for one in made.task_configs(maximum)
        ]

    async def _launch(self, hand: _Hand, name: str, run: int, tasks: int) -> None:
        config = self.state.config(name)
        plugin = self.plugin_of(name)
        if config is None or plugin is None or not self._leading:
            return
        said = {key: value for key, value in config.items() if value is not None}
        try:
            plan = RunPlan(
                name=name,
                config=said,
                resolved=await asyncio.to_thread(self.providers.resolve, said),
                tasks=tasks,
                group_id=self.settings["group.id"],
                offsets_topic=self.settings["offset.storage.topic"],
                own_offsets_topic=(
                    await self._own_offsets_topic(name) if plugin.kind == "source" else None
                ),
                connection=self.connection,
                worker=self.settings.for_runs,
                passwords=plugins.passwords(plugin),
                is_certain=lambda: self.leadership is None or self.leadership.is_certain,
            )
            if plugin.kind == "source":
                await self.fence(name, tasks)
            loop = asyncio.get_running_loop()

            def report(event: RunEvent) -> None:
                loop.call_soon_threadsafe(self._step, herder.Reported(name, run, event))

            hand.run = await asyncio.to_thread(self.runner.run, plan, report)
        except Exception as error:
            self._step(herder.Broken(name, run, self._redacted(said, _trace(error))))

    def _redacted(self, config: Mapping[str, str], text: str) -> str:
        try:
            resolved = self.providers.resolve(config)
            passwords = plugins.passwords(plugins.find(config["connector.class"]))
        except ConnectError:
            return text  # what cannot be resolved is in no text
        return Redaction(config, resolved, passwords)(text)

    def move_target(
        self,
        name: str,
        positions: Mapping[TopicPartition, int | None],
        group: Mapping[TopicPartition, int],
    ) -> None:
        """Also where the sink's target holds offsets itself; `group` is where its group was.

        Called in a thread.
        """
        config = self.state.config(name) or {}
        said = {key: value for key, value in config.items() if value is not None}
        connector = plugins.sink(self.providers.resolve(said))
        adopt_group(connector, group)
        connector.move(positions)

    async def fence(self, name: str, tasks: int) -> None:
        """Former tasks of a source write no more; `tasks` new ones will."""
        former = self.state.configs.fencing.get(name, 0)
        group = self.settings["group.id"]
        await self.store.fence(f"{group}-{name}-{task}" for task in range(former))
        await self._write(self.store.write_configs, [records.fencing(name, tasks)])


def task_class(said: str, plugin: Plugin) -> str:
    """As Java's connector names its task, for a Connect that takes over."""
    known = said if "." in said else plugin.classes[0]
    if known.startswith("io.debezium."):
        return f"{known}Task"
    return f"{known.removesuffix('Connector')}Task"


def _trace(error: Exception) -> str:
    """Begins with the sentence; secrets are in no exception's arguments."""
    if isinstance(error, ConnectError):
        return str(error)
    return "".join(traceback.format_exception(error)).strip()
