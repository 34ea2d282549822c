"""Workers of Connect inside the test's process, each on a loop of its own, without Spark."""

import asyncio
import threading
import uuid
from types import TracebackType
from typing import Any

from ottla.connect.server import Running, running
from ottla.connect.settings import read_settings
from ottla.serving.options import Said
from support.fake_runner import FakeRunner
from support.homes import free_port


class LocalWorker:
    """Its topics and group are its own, unless it is `another` of a group."""

    def __init__(
        self, bootstrap: str, options: dict[str, str] | None = None, scheme: str = "http"
    ) -> None:
        self.scheme = scheme
        own = uuid.uuid4().hex[:8]
        self.options = {
            "bootstrap.servers": bootstrap,
            "group.id": f"connect-{own}",
            "config.storage.topic": f"connect-configs-{own}",
            "offset.storage.topic": f"connect-offsets-{own}",
            "offset.storage.partitions": "3",
            "status.storage.topic": f"connect-status-{own}",
            "status.storage.partitions": "2",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "300",
            **(options or {}),
        }
        self.port = free_port()
        self.runner = FakeRunner()
        self._serving = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self.failure: BaseException | None = None
        self.ended: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def another(self) -> "LocalWorker":
        return LocalWorker(self.options["bootstrap.servers"], self.options, self.scheme)

    def __enter__(self) -> "LocalWorker":
        self._thread.start()
        assert self._serving.wait(60), "the worker does not serve"
        if self.failure is not None:
            raise self.failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self.failure = error
        finally:
            self._serving.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        said = {**self.options, "listeners": self.url}
        settings = read_settings(
            None, [Said(name, value, "a test") for name, value in said.items()]
        )
        async with running(settings, self.runner) as worker:
            assert worker.worker.leadership is not None
            await asyncio.wait(
                [
                    asyncio.create_task(worker.worker.leadership.settled(30)),
                    asyncio.ensure_future(_told(worker)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            self._serving.set()
            ends: list[asyncio.Future[Any]] = [
                asyncio.create_task(self._stop.wait()),
                worker.ended,
            ]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if worker.ended.done():
                self.ended = worker.ended.result()


async def _told(worker: Running) -> None:
    await asyncio.wait([worker.ended])
