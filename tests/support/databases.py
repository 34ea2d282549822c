"""What a test wants of a database server of its own, whichever it is: `support.postgres`,
`support.mariadb`.
"""

import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

USER, PASSWORD = "ottla", "se cret"
START_S = 60.0

S = TypeVar("S", bound="DatabaseServer")


@dataclass(frozen=True)
class DatabaseServer(ABC):
    """One database of a running server, and who may do everything in it."""

    HOME: ClassVar[str]  # the database that is there from the beginning
    QUOTE: ClassVar[str]
    AWAY: ClassVar[type[Exception]]  # what a driver raises where nobody answers

    folder: Path
    port: int
    name: str = ""
    user: str = USER
    password: str = PASSWORD
    process: list["subprocess.Popen[bytes]"] = field(default_factory=list, compare=False)

    @abstractmethod
    def connect(self, **options: Any) -> Any:
        """A connection of the driver's; transactions begin by themselves."""

    @abstractmethod
    def commit_each(self, connection: Any) -> None:
        """From here on each statement is a transaction of its own."""

    @abstractmethod
    def launch(self, log: Any, *options: str) -> "subprocess.Popen[bytes]":
        """The server's process; what it says goes into the log."""

    @abstractmethod
    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """Without a checkpoint, as after a crash."""

    def run(self, *statements: str) -> None:
        """Each statement in a transaction of its own."""
        connection = self.connect()
        try:
            self.commit_each(connection)
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(query)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def database(self: S) -> S:
        """A new, empty database on this server; it goes with it."""
        name = f"db_{uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {self.QUOTE}{name}{self.QUOTE}")
        return replace(self, name=name)

    def kill(self) -> None:
        process = self.process.pop()
        self.end(process)
        process.wait(30)

    def start(self, *options: str) -> None:
        """After `kill`, on the same port; returns when it answers."""
        with (self.folder / "server.log").open("ab") as log:
            process = self.launch(log, *options)
        self.process.append(process)
        deadline = time.monotonic() + START_S
        while True:
            try:
                replace(self, name=self.HOME).connect().close()
                return
            except self.AWAY as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    said = (self.folder / "server.log").read_text()[-2000:]
                    raise AssertionError(f"{type(self).__name__} did not start: {said}") from error
                time.sleep(0.05)


@contextmanager
def folder_of(name: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"ottla-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def serving(server: S) -> Iterator[S]:
    try:
        server.start()
        yield server
    finally:
        if server.process:
            server.kill()
