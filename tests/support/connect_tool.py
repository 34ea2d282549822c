"""`ottla connect …` in the test's own process, told where the worker is."""

import json
import time
from collections.abc import Callable
from typing import Any

from typer.testing import CliRunner, Result

from ottla.cli.app import app
from ottla.errors import OttlaError

WITHIN_S = 60.0


class ConnectTool:
    def __init__(self, url: str, bootstrap: str | None = None) -> None:
        self._env = {"OTTLA_CONNECT": url, "OTTLA_BOOTSTRAP": bootstrap}

    def __call__(self, *arguments: str, stdin: str | None = None, code: int = 0) -> Result:
        result = CliRunner().invoke(
            app, ["connect", *arguments], input=stdin, env=self._env, prog_name="ottla"
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments).stdout)

    def refused(self, *arguments: str, stdin: str | None = None) -> str:
        try:
            result = self(*arguments, stdin=stdin)
        except OttlaError as error:
            return str(error)
        raise AssertionError(f"it is not refused: {result.output}")

    def until(self, name: str, state: str, tasks: str | None = None) -> None:
        """The connector's state, and that of each task if there is one to be waited for."""

        def there() -> bool:
            try:
                found = self.json("status", name, "--json")
            except OttlaError:  # one that was just made is not known yet
                return False
            states = {one["state"] for one in found["tasks"]}
            return found["connector"]["state"] == state and states == ({tasks} if tasks else set())

        eventually(there)

    def until_gone(self, name: str) -> None:
        """Kafka Connect forgets a connector's state after it has answered."""

        def gone() -> bool:
            try:
                self("status", name)
            except OttlaError:
                return True
            return False

        eventually(gone)


def eventually(true: Callable[[], bool], seconds: float = WITHIN_S) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.05)
