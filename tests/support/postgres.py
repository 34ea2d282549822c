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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2

from ottla.ports.network import free_ports
from support.confluent import wait_until
from support.databases import PASSWORD, USER, DatabaseServer, folder_of, serving
from support.debian import program_of

BINARIES = "/usr/lib/postgresql/15/bin"
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
class Postgres(DatabaseServer):
    HOME = "postgres"
    QUOTE = '"'
    AWAY = psycopg2.OperationalError

    name: str = HOME

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.name}"

    def connect(self, **options: Any) -> Any:
        return psycopg2.connect(
            host="127.0.0.1",
            port=self.port,
            dbname=self.name,
            user=self.user,
            password=self.password,
            connect_timeout=10,
            **options,
        )

    def commit_each(self, connection: Any) -> None:
        connection.autocommit = True

    def drop_slot(self, slot: str) -> None:
        """PostgreSQL notices a moment later that nobody reads from it any more."""
        active = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{slot}'"
        wait_until(lambda: self.rows(active) == [(False,)])
        self.run(f"SELECT pg_drop_replication_slot('{slot}')")

    def launch(self, log: Any, *options: str) -> "subprocess.Popen[bytes]":
        """options: `-c name=value`."""
        command = [program_of("postgresql-15", "postgres", BINARIES), "-D", str(self.folder)]
        return subprocess.Popen(
            [*command, "-p", str(self.port), *options],
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_parent,
            **_as_postgres(),
        )

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        process.send_signal(signal.SIGQUIT)


@contextmanager
def running_postgres(**options: str) -> Iterator[Postgres]:
    """A server of its own in a temporary folder; `options` are of postgresql.conf."""
    initdb = program_of("postgresql-15", "initdb", BINARIES)
    with folder_of("postgres") as folder:
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
        with serving(Postgres(data, free_ports(1)[0])) as server:
            yield server


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
