"""A MariaDB of the tests' own, on the loopback, with a binary log of rows.

As `support.postgres`: `running_mariadb()` starts one, `database()` makes a place for a test.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from ottla.ports.network import free_ports
from support.brokers import die_with_parent
from support.databases import PASSWORD, USER, DatabaseServer, folder_of, serving
from support.debian import program_of

PACKAGE = "mariadb-server-core"
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
class MariaDb(DatabaseServer):
    HOME = "mysql"
    QUOTE = "`"
    AWAY = pymysql.err.OperationalError

    name: str = "test"

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{self.name}"

    def connect(self, **options: Any) -> Any:
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            database=self.name,
            user=self.user,
            password=self.password,
            connect_timeout=10,
            **options,
        )

    def commit_each(self, connection: Any) -> None:
        connection.autocommit(True)

    def launch(self, log: Any, *options: str) -> "subprocess.Popen[bytes]":
        command = [program_of(PACKAGE, "mariadbd"), "--no-defaults", f"--datadir={self.folder}"]
        command += [f"--port={self.port}", f"--socket={self.folder}/server.socket"]
        command += [f"--init-file={self.folder}/first.sql", *options]
        command += [f"--{name}={value}" for name, value in OPTIONS.items()]
        return subprocess.Popen(
            command + _as_root(), stdout=log, stderr=log, preexec_fn=die_with_parent
        )

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        process.kill()


@contextmanager
def running_mariadb() -> Iterator[MariaDb]:
    """A server of its own in a temporary folder."""
    program = program_of(PACKAGE, "mariadbd")
    with folder_of("mariadb") as folder:
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
        with serving(MariaDb(data, free_ports(1)[0])) as server:
            yield server


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []
