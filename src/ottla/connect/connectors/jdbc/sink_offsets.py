"""How far a sink has written, kept beside what it wrote and changed in the same transaction.

`(connector, topic, partition) → next offset`, in a table of the target's. A row without a topic
counts the connector's runs: whoever belongs to an older one writes nothing any more.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ottla.connect.connector import ConnectError, TopicPartition
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import Connection, execute, fetched

RUNS = TopicPartition("", -1)
_NAME = "VARCHAR({}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


@dataclass(frozen=True, slots=True)
class Offsets:
    """Picklable."""

    database: Database
    table: str
    connector: str

    # Of the worker

    def begin_run(self) -> int:
        """The number of a new run. When it is known, no older one writes any more."""
        connection = self.database.connect()
        try:
            with self.database.speaking():
                self._make(connection)
                self.database.dialect.begin_writing(connection)
                run = (self._locked(connection, RUNS) or 0) + 1
                self._store(connection, RUNS, run)
                connection.commit()
                return run
        finally:
            connection.close()

    def positions(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        connection = self.database.connect()
        try:
            with self.database.speaking():
                self._make(connection)
                rows = fetched(
                    self.database.dialect,
                    connection,
                    f"SELECT topic, kafka_partition, next_offset FROM {self._name()}"
                    " WHERE connector = \0",
                    (self.connector,),
                )
        finally:
            connection.close()
        held = {TopicPartition(topic, int(number)): int(at) for topic, number, at in rows}
        return {one: held[one] for one in partitions if one in held}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        connection = self.database.connect()
        try:
            with self.database.speaking():
                self.database.dialect.begin_writing(connection)
                for partition, offset in positions.items():
                    if offset is None:
                        self._run(
                            connection,
                            f"DELETE FROM {self._name()} WHERE {self._this()}",
                            (self.connector, *partition),
                        )
                    else:
                        self._locked(connection, partition)
                        self._store(connection, partition, offset)
                connection.commit()
        finally:
            connection.close()

    # Of a task, within its transaction

    def lock(self, connection: Connection, partition: TopicPartition, run: int) -> int:
        """The next offset to write; nobody else writes this partition until the commit."""
        current = self._number(connection, RUNS, _SHARED)
        if current != run:
            raise ConnectError(
                f"Connector {self.connector} was taken over by run {current}: what run {run} still"
                " holds is not written"
            )
        return self._locked(connection, partition) or 0

    def advance(self, connection: Connection, partition: TopicPartition, offset: int) -> None:
        self._store(connection, partition, offset)

    # Statements

    def _make(self, connection: Connection) -> None:
        dialect = self.database.dialect
        if dialect.columns(connection, dialect.table_id(connection, self.table)):
            return
        name = _NAME if dialect.name == "mariadb" else "VARCHAR({})"
        sql = (
            f"CREATE TABLE IF NOT EXISTS {self._name()} (connector {name.format(255)} NOT NULL,"
            f" topic {name.format(249)} NOT NULL, kafka_partition INT NOT NULL,"
            " next_offset BIGINT NOT NULL, PRIMARY KEY (connector, topic, kafka_partition))"
        )
        try:
            self._run(connection, sql, ())
            connection.commit()
        except dialect.errors:
            connection.rollback()  # two began at once, and one was faster
            if not dialect.columns(connection, dialect.table_id(connection, self.table)):
                raise

    def _locked(self, connection: Connection, partition: TopicPartition) -> int | None:
        """None: the row was not there; it is now, and locked."""
        found = self._number(connection, partition, _EXCLUSIVE)
        if found is None:
            self._run(
                connection,
                f"INSERT INTO {self._name()} (connector, topic, kafka_partition, next_offset)"
                f" VALUES (\0, \0, \0, 0) {_UNLESS_THERE[self.database.target.dialect]}",
                (self.connector, *partition),
            )
            found = self._number(connection, partition, _EXCLUSIVE)
        return found

    def _number(
        self, connection: Connection, partition: TopicPartition, lock: Mapping[str, str]
    ) -> int | None:
        sql = f"SELECT next_offset FROM {self._name()} WHERE {self._this()}"
        sql += lock[self.database.target.dialect]
        rows = self._run(connection, sql, (self.connector, *partition))
        return int(rows[0][0]) if rows else None

    def _store(self, connection: Connection, partition: TopicPartition, offset: int) -> None:
        self._run(
            connection,
            f"UPDATE {self._name()} SET next_offset = \0 WHERE {self._this()}",
            (offset, self.connector, *partition),
        )

    def _run(
        self, connection: Connection, sql: str, parameters: tuple[str | int, ...]
    ) -> list[tuple[int, ...]]:
        cursor = connection.cursor()
        try:
            execute(self.database.dialect, cursor, sql, parameters)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()

    def _name(self) -> str:
        return ".".join(self.database.dialect.quote(part) for part in self.table.split("."))

    @staticmethod
    def _this() -> str:
        return "connector = \0 AND topic = \0 AND kafka_partition = \0"


# SQLite has one writer at a time: its transaction began with the lock.
_EXCLUSIVE = {"postgresql": " FOR UPDATE", "mariadb": " FOR UPDATE", "sqlite": ""}
_SHARED = {"postgresql": " FOR SHARE", "mariadb": " LOCK IN SHARE MODE", "sqlite": ""}
_UNLESS_THERE = {
    "postgresql": "ON CONFLICT DO NOTHING",
    "mariadb": "ON DUPLICATE KEY UPDATE next_offset = next_offset",
    "sqlite": "ON CONFLICT DO NOTHING",
}
