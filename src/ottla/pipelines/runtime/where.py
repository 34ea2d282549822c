"""The lines of the user's own file, and errors that name one. Also runs in workers."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ottla.errors import OttlaError

PACKAGE = str(Path(__file__).parents[2]) + os.sep


@dataclass(frozen=True, slots=True)
class Where:
    """The line of the application that made a node."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class DefinitionError(OttlaError):
    """The application cannot run as written; the sentence says where and why."""

    def __init__(self, where: Where, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


def here() -> Where:
    """The nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Where(frame.f_code.co_filename, frame.f_lineno)
