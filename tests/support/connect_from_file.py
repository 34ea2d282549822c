"""A worker of ours on the very file that a worker of Kafka Connect was started with."""

import re
from pathlib import Path

from ottla.testing.server import Server


class FromFile(Server):
    kind = "connect"
    ready = b"Connect at "

    def __init__(self, file: Path, *more: str, start_within_s: float = 120) -> None:
        super().__init__(start_within_s, stop_within_s=60)
        self._file = file
        self._more = more

    @property
    def url(self) -> str:
        said = re.search(r"^listeners=(\S+)$", self._file.read_text(), re.MULTILINE)
        assert said is not None
        return said[1]

    @property
    def log_file(self) -> Path:
        return self._file.with_name("ottla.log")

    def _arguments(self) -> list[str]:
        return ["connect", "start", str(self._file), *self._more]
