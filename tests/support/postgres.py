"""A PostgreSQL of the tests' own, on the loopback, with a log that can be decoded logically.

`running_postgres()` starts one; a fixture in the tests' folder keeps it:

    @pytest.fixture(scope="session")
    def postgres() -> Iterator[Postgres]:
        with running_postgres() as server:
            yield server

A test takes a database of its own: `postgres.database()`.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg2

from ottla.ports.network import free_ports
from support.debian import program_of

BINARIES = "/usr/lib/postgresql/15/bin"
USER, PASSWORD = "ottla", "se cret"
START_S = 60.0
PR_SET_PDEATHSIG = 1
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "fsync": "off",  # a test may kill the server, never the machine
    "wal_sender_timeout": "10s",
    "timezone": "UTC",
}


@dataclass(frozen=True)
class Postgres:
    """One database of a running server, and who may do everything in it."""

    folder: Path
    port: int
    name: str = "postgres"
    user: str = USER
    password: str = PASSWORD
    process: list["subprocess.Popen[bytes]"] = field(default_factory=list, compare=False)

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.name}"

    def connect(self, **options: Any) -> Any:
        """A connection of psycopg2's; transactions begin by themselves."""
        return psycopg2.connect(
            host="127.0.0.1",
            port=self.port,
            dbname=self.name,
            user=self.user,
            password=self.password,
            connect_timeout=10,
            **options,
        )

    def run(self, *statements: str) -> None:
        """Each statement in a transaction of its own."""
        connection = self.connect()
        try:
            connection.autocommit = True
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
                found: list[tuple[Any, ...]] = cursor.fetchall()
                return found
        finally:
            connection.close()

    def database(self) -> "Postgres":
        """A new, empty database on this server; it goes with it."""
        name = f"db_{uuid4().hex[:12]}"
        self.run(f'CREATE DATABASE "{name}"')
        return replace(self, name=name)

    def kill(self) -> None:
        """SIGQUIT: without a checkpoint, as after a crash."""
        process = self.process.pop()
        process.send_signal(signal.SIGQUIT)
        process.wait(30)

    def start(self, *options: str) -> None:
        """After `kill`, on the same port; returns when it answers. options: `-c name=value`."""
        command = [program_of("postgresql-15", "postgres", BINARIES), "-D", str(self.folder)]
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
                **_as_postgres(),
            )
        self.process.append(process)
        deadline = time.monotonic() + START_S
        while True:
            try:
                replace(self, name="postgres").connect().close()
                return
            except psycopg2.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    said = (self.folder / "server.log").read_text()[-2000:]
                    raise AssertionError(f"PostgreSQL did not start: {said}") from error
                time.sleep(0.05)


@contextmanager
def running_postgres(**options: str) -> Iterator[Postgres]:
    """A server of its own in a temporary folder; `options` are of postgresql.conf."""
    initdb = program_of("postgresql-15", "initdb", BINARIES)
    folder = Path(tempfile.mkdtemp(prefix="ottla-postgres-"))
    try:
        _own(folder)
        data = folder / "data"
        secret = folder / "password"
        secret.write_text(PASSWORD)
        _own(secret)
        command = [initdb, "-D", str(data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}"]
        subprocess.run(
            [*command, "-E", "UTF8", "--locale=C.UTF-8", "-N"],
            check=True,
            capture_output=True,
            cwd=folder,
            **_as_postgres(),
        )
        settings = OPTIONS | {"unix_socket_directories": str(folder)} | options
        with (data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        server = Postgres(data, free_ports(1)[0])
        try:
            server.start()
            yield server
        finally:
            if server.process:
                server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_postgres() -> dict[str, Any]:
    """PostgreSQL refuses to be run by root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def _own(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, "postgres", "postgres")


def _end_with_parent() -> None:
    """With its own children: SIGKILL would leave them to notice."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
