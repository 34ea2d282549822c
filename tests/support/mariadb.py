"""A MariaDB of the tests' own, on the loopback, with a binary log of rows.

As `support.postgres`: `running_mariadb()` starts one, `database()` makes a place for a test.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pymysql

from ottla.ports.network import free_ports
from support.brokers import die_with_parent
from support.debian import program_of

PACKAGE = "mariadb-server-core"
USER, PASSWORD = "ottla", "se cret"
START_S = 60.0
FIRST = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n"
SCRIPTS, PARTS = Path("/usr/share/mysql"), ("", "_data")
OPTIONS = {
    "bind-address": "127.0.0.1",
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "server-id": "1",
    "innodb-buffer-pool-size": "32M",
    "innodb-flush-log-at-trx-commit": "2",  # a test may kill the server, never the machine
    "character-set-server": "utf8mb4",
    "default-time-zone": "+00:00",
}


@dataclass(frozen=True)
class MariaDb:
    """One database of a running server, and who may do everything in it."""

    folder: Path
    port: int
    name: str = "test"
    user: str = USER
    password: str = PASSWORD
    process: list["subprocess.Popen[bytes]"] = field(default_factory=list, compare=False)

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{self.name}"

    def connect(self, **options: Any) -> Any:
        """A connection of PyMySQL's; transactions begin by themselves."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            database=self.name,
            user=self.user,
            password=self.password,
            connect_timeout=10,
            **options,
        )

    def run(self, *statements: str) -> None:
        """Each statement in a transaction of its own."""
        connection = self.connect(autocommit=True)
        try:
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

    def database(self) -> "MariaDb":
        """A new, empty database on this server; it goes with it."""
        name = f"db_{uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE `{name}`")
        return replace(self, name=name)

    def kill(self) -> None:
        process = self.process.pop()
        process.kill()
        process.wait(30)

    def start(self) -> None:
        """After `kill`, on the same port; returns when it answers."""
        command = [program_of(PACKAGE, "mariadbd"), "--no-defaults", f"--datadir={self.folder}"]
        command += [f"--port={self.port}", f"--socket={self.folder}/server.socket"]
        command += [f"--init-file={self.folder}/first.sql"]
        command += [f"--{name}={value}" for name, value in OPTIONS.items()]
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                command + _as_root(), stdout=log, stderr=log, preexec_fn=die_with_parent
            )
        self.process.append(process)
        deadline = time.monotonic() + START_S
        while True:
            try:
                replace(self, name="mysql").connect().close()
                return
            except pymysql.err.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    said = (self.folder / "server.log").read_text()[-2000:]
                    raise AssertionError(f"MariaDB did not start: {said}") from error
                time.sleep(0.05)


@contextmanager
def running_mariadb() -> Iterator[MariaDb]:
    """A server of its own in a temporary folder."""
    program = program_of(PACKAGE, "mariadbd")
    folder = Path(tempfile.mkdtemp(prefix="ottla-mariadb-"))
    try:
        data = folder / "data"
        data.mkdir()
        # What mariadb-install-db does; the script itself needs a program of the clients' package.
        tables = "".join((SCRIPTS / f"mysql_system_tables{part}.sql").read_text() for part in PARTS)
        subprocess.run(
            [program, "--no-defaults", "--bootstrap", f"--datadir={data}", *_as_root()],
            input=f"{FIRST}{tables}".encode(),
            check=True,
            capture_output=True,
        )
        (data / "first.sql").write_text(
            "CREATE DATABASE IF NOT EXISTS test;\n"
            f"CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        server = MariaDb(data, free_ports(1)[0])
        try:
            server.start()
            yield server
        finally:
            if server.process:
                server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []
