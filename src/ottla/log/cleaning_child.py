"""The process in which logs are cleaned, from its parent's side."""

import asyncio
import contextlib
import pickle
import sys

from ottla.log.cleaning import CleaningPlan, CleaningResult
from ottla.log.cleaning_process import RESULT_SIZE
from ottla.log.reading import Damage

MODULE = "ottla.log.cleaning_process"


class CleaningChild:
    """Takes one plan after the other: to start it costs as much as to clean megabytes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> "CleaningChild":
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable, "-m", MODULE, stdin=pipe, stdout=pipe, stderr=pipe
            )
        )

    async def clean(self, plan: CleaningPlan) -> CleaningResult | Damage | str:
        """What came of it; a text is what the child said before it died."""
        plans, results, complaints = (
            self._process.stdin,
            self._process.stdout,
            self._process.stderr,
        )
        assert plans is not None
        assert results is not None
        assert complaints is not None
        try:
            plans.write(pickle.dumps(plan))
            (size,) = RESULT_SIZE.unpack(await results.readexactly(RESULT_SIZE.size))
            result: CleaningResult | Damage = pickle.loads(await results.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return (await complaints.read()).decode().strip()
        return result

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
