"""Several nodes under one roof: started together, started again when they die, stopped in order.

Each node is a process of its own, `ottla start …`; this one only watches. It imports nothing that
a broker on its own would not import, because `ottla start --workers` goes through here.
"""

import asyncio
import ctypes
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

STOP_S_MAX = 30.0
STEADY_S = 10.0
"""A node that lived this long is started again at once; one that did not, after a pause."""
PAUSE_S_MAX = 5.0
PAUSE_S_MIN = 0.1
_PR_SET_PDEATHSIG = 1


class Child(NamedTuple):
    name: str
    command: Sequence[str]
    log: Path | None = None  # where it writes its log; None: to our standard error
    says: str = "ready "  # before what it says when it serves


Beside = Callable[[str], Child]
"""Of the addresses of the nodes that serve, what shall run beside them."""


def supervise(children: Sequence[Child], beside: Beside | None = None) -> int:
    """Runs them until SIGTERM or Ctrl-C; the exit code. `beside` is asked when all serve."""

    async def run() -> int:
        return await Supervisor(children, beside).run()

    return asyncio.run(run())


class Supervisor:
    def __init__(self, children: Sequence[Child], beside: Beside | None = None) -> None:
        self._nodes = [SupervisedNode(child) for child in children]
        self._beside = beside
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        stopping = loop.create_task(self._stopping.wait())
        lives = [loop.create_task(node.live()) for node in self._nodes]
        ready = loop.create_task(self._tell_when_ready())
        try:
            await asyncio.wait([stopping, *lives], return_when=asyncio.FIRST_COMPLETED)
            return 0 if self._stopping.is_set() else 1
        finally:
            for task in (*lives, ready, stopping):
                task.cancel()
            await self._stop()

    async def _tell_when_ready(self) -> None:
        addresses = ",".join([await node.ready for node in self._nodes])
        print(f"ready {addresses}", flush=True)
        if self._beside is not None:
            await self._run_beside(SupervisedNode(self._beside(addresses)))

    async def _run_beside(self, more: "SupervisedNode") -> None:
        """It ends with us; should it never serve, the nodes go on without it."""
        self._nodes.append(more)
        life = asyncio.create_task(more.live())
        try:
            waited: list[asyncio.Future[Any]] = [life, more.ready]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if more.ready.done():
                print(f"{more.child.says}{more.ready.result()}", flush=True)
            await life
        finally:
            life.cancel()

    async def _stop(self) -> None:
        """One after the other, the first node last: each takes leave of a controller that is there
        to hear it, and the first may be the only one."""
        for node in reversed(self._nodes):
            await node.stop()


class SupervisedNode:
    """One process at a time, and the next one when it dies."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._process: asyncio.subprocess.Process | None = None

    async def live(self) -> None:
        """Ends only with a node that never served: what keeps it down would do so again."""
        loop = asyncio.get_running_loop()
        pause_s = PAUSE_S_MIN
        while True:
            began = loop.time()
            code = await self._run_once()
            if not self.ready.done():
                _say(f"{self.child.name} ended with code {code} before it served.{self._where()}")
                return
            pause_s = (
                PAUSE_S_MIN if loop.time() - began > STEADY_S else min(2 * pause_s, PAUSE_S_MAX)
            )
            _say(f"{self.child.name} ended with code {code}; starting it again.")
            await asyncio.sleep(pause_s)

    async def stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_S_MAX):
                await process.wait()
        except TimeoutError:
            _say(f"{self.child.name} does not stop; killing it.")
            process.kill()
            await process.wait()

    async def _run_once(self) -> int:
        log = self.child.log.open("ab") if self.child.log is not None else None
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *self.child.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                process_group=0,  # Ctrl-C is for us: we stop the nodes in order
                preexec_fn=_die_with_parent,
            )
        finally:
            if log is not None:
                log.close()
        assert process.stdout is not None
        async for line in process.stdout:
            said = line.decode(errors="replace")
            if said.startswith(self.child.says) and not self.ready.done():
                self.ready.set_result(said.removeprefix(self.child.says).strip())
        return await process.wait()

    def _where(self) -> str:
        return f" Its log is {self.child.log}." if self.child.log is not None else ""


def _say(sentence: str) -> None:
    print(f"ottla: {sentence}", file=sys.stderr, flush=True)


def _die_with_parent() -> None:
    """A supervisor that was killed leaves nobody behind (Linux; elsewhere it may)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
