"""What is measured of rows: each job prepares, asks one side for its rows, and cleans up."""

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from bench.connect_arrivals import Flow, Lines, Rows, Topic, watch
from bench.connect_workers import Side, cpu_of, until
from support.postgres import Postgres

LINE = 100
PARTITIONS = 2
INSERTS, UPDATES, DELETES = 70, 20, 10  # of a transaction; a delete has a tombstone behind it
RECORDS = INSERTS + UPDATES + 2 * DELETES
COLUMNS = (
    "id bigint PRIMARY KEY, customer int NOT NULL, item text NOT NULL, price numeric(10,2),"
    " quantity int, note text, created timestamptz, paid boolean"
)
ROW = (
    "n, n % 1000, 'item ' || n % 97, (n % 10000) / 100.0, n % 7, repeat('x', 40),"
    " timestamptz '2026-01-01' + n * interval '1 s', n % 2 = 0"
)


@dataclass(frozen=True)
class Place:
    """What both sides share."""

    bootstrap: str
    broker_pid: int
    postgres: Postgres
    folder: Path

    def cpu_s(self, side: Side) -> Callable[[], tuple[float, float]]:
        others = (self.broker_pid, self.postgres.process[0].pid)
        return lambda: (side.cpu_s(), sum(cpu_of(one) for one in others))

    def topic(self, rows: int, name: str = "", partitions: int = 1) -> Topic:
        named = name or f"bench-{uuid.uuid4().hex[:8]}"
        return Topic(self.bootstrap, named, rows, partitions).make()


def flow(place: Place, side: Side, target: Lines | Rows | Topic, rows: int, **config: str) -> Flow:
    """Of a connector that is made for it and gone afterwards."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    keys = {one.replace("_", "."): value for one, value in config.items()}
    done = watch(target, rows, lambda: side.put(name, keys), place.cpu_s(side))
    side.delete(name)
    return done


# Files


def file_source(place: Place, side: Side, rows: int) -> Flow:
    file = lines_file(place.folder, rows)
    topic = place.topic(rows)
    done = flow(
        *(place, side, topic, rows),
        connector_class="org.apache.kafka.connect.file.FileStreamSourceConnector",
        file=str(file),
        topic=topic.name,
        tasks_max="1",
    )
    topic.delete()
    return done


def lines_file(folder: Path, rows: int) -> Path:
    file = folder / f"{rows}.txt"
    if not file.exists():
        with file.open("w") as into:
            into.writelines(line(number) + "\n" for number in range(rows))
    return file


def line(number: int) -> str:
    return (f"{number:010}" + " abcdefgh" * LINE)[: LINE - 1]


def file_sink(place: Place, side: Side, rows: int) -> Flow:
    topic = _filled(place, f"lines-{rows}", rows, 1, _line_record)
    into = place.folder / f"out-{uuid.uuid4().hex[:8]}.txt"
    done = flow(
        *(place, side, Lines(into, rows, LINE), rows),
        connector_class="org.apache.kafka.connect.file.FileStreamSinkConnector",
        file=str(into),
        topics=topic,
        tasks_max="1",
    )
    into.unlink()
    return done


def _line_record(number: int) -> tuple[bytes | None, bytes]:
    schema = {"type": "string", "optional": False}
    return None, _json({"schema": schema, "payload": line(number)})


_filled_topics: set[str] = set()


def _filled(
    place: Place,
    name: str,
    rows: int,
    partitions: int,
    record: Callable[[int], tuple[bytes | None, bytes]],
) -> str:
    """Filled once, and read by every round."""
    if name in _filled_topics:
        return name
    place.topic(rows, name, partitions)
    producer = Producer(
        {
            "bootstrap.servers": place.bootstrap,
            "linger.ms": 20,
            "queue.buffering.max.messages": 200_000,
        }
    )
    for number in range(rows):
        key, value = record(number)
        while True:
            try:
                producer.produce(name, value, key, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise SystemExit("the broker did not take the records of a sink")
    _filled_topics.add(name)
    return name


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# PostgreSQL's changes


@contextmanager
def _capturing(place: Place, database: Postgres) -> Iterator[dict[str, str]]:
    """A connector's configuration with a slot of its own, which is gone afterwards."""
    own = uuid.uuid4().hex[:8]
    yield {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.dbname": database.name,
        "plugin.name": "pgoutput",
        "topic.prefix": f"bench-{own}",
        "slot.name": f"bench_{own}",
        "publication.name": f"bench_{own}",
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.orders",
    }
    until(lambda: not _active(database, f"bench_{own}"), "the slot is left")
    database.run(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        f" WHERE slot_name = 'bench_{own}'",
        f"DROP PUBLICATION IF EXISTS bench_{own}",
    )


def _active(database: Postgres, slot: str) -> bool:
    query = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{slot}'"
    return database.rows(query) == [(True,)]


_snapshots: dict[int, Postgres] = {}


def snapshot(place: Place, side: Side, rows: int) -> Flow:
    if rows not in _snapshots:
        _snapshots[rows] = place.postgres.database()
        _snapshots[rows].run(
            f"CREATE TABLE orders ({COLUMNS})",
            f"INSERT INTO orders SELECT {ROW} FROM generate_series(1, {rows}) n",
            "ANALYZE orders",
        )
    database = _snapshots[rows]
    with _capturing(place, database) as config:
        topic = place.topic(rows, f"{config['topic.prefix']}.public.orders")
        done = flow(place, side, topic, rows, **config, snapshot_mode="initial_only")
    topic.delete()
    return done


def stream(place: Place, side: Side, rows: int) -> Flow:
    """A backlog of transactions, read by a connector that was stopped while they were made."""
    transactions = rows // RECORDS
    records = transactions * RECORDS
    database = place.postgres.database()
    with streaming(place, side, database, records) as (name, topic):
        side.bring(name, "stop", "STOPPED")
        database.run(_WRITER, f"CALL write_orders({transactions})")
        topic.mark()
        begin: Callable[[], None] = lambda: side.bring(name, "resume", "RUNNING")  # noqa: E731
        done = watch(topic, records, begin, place.cpu_s(side))
    topic.delete()
    return done


@contextmanager
def streaming(
    place: Place, side: Side, database: Postgres, records: int
) -> Iterator[tuple[str, Topic]]:
    """A connector that has read one row of `orders`, so that it has an offset."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    database.run(f"CREATE TABLE orders ({COLUMNS})")
    with _capturing(place, database) as config:
        topic = place.topic(records, f"{config['topic.prefix']}.public.orders")
        side.put(name, {**config, "snapshot.mode": "no_data"})
        until(lambda: _active(database, config["slot.name"]), "the slot is read")
        database.run("INSERT INTO orders VALUES (-1, 1, 'first')")
        until(lambda: topic.seen().safe > 0, "the first change arrives")
        yield name, topic
        side.delete(name)


_WRITER = f"""CREATE PROCEDURE write_orders(transactions int) LANGUAGE plpgsql AS $$
DECLARE base bigint;
BEGIN
  FOR t IN 0 .. transactions - 1 LOOP
    base := t * {INSERTS};
    INSERT INTO orders SELECT {ROW}
      FROM generate_series(base + 1, base + {INSERTS}) n;
    UPDATE orders SET paid = true, note = 'paid'
      WHERE id BETWEEN base + 1 AND base + {UPDATES};
    DELETE FROM orders
      WHERE id BETWEEN base + {INSERTS - DELETES} + 1 AND base + {INSERTS};
    COMMIT;
  END LOOP;
END $$"""


# Into a database


def jdbc_sink(place: Place, side: Side, rows: int) -> Flow:
    topic = _filled(place, f"orders-{rows}", rows, PARTITIONS, _order)
    database = place.postgres.database()
    target = Rows(database.connect(), "orders", rows, PARTITIONS)
    return flow(
        *(place, side, target, rows),
        connector_class="io.debezium.connector.jdbc.JdbcSinkConnector",
        topics=topic,
        tasks_max=str(PARTITIONS),
        connection_url=database.jdbc_url,
        connection_username=database.user,
        connection_password=database.password,
        insert_mode="upsert",
        primary_key_mode="record_key",
        schema_evolution="basic",
        collection_name_format="orders",
        consumer_override_auto_offset_reset="earliest",
    )


def _field(name: str, kind: str, /, **more: object) -> dict[str, object]:
    return {"type": kind, "optional": name != "id", **more, "field": name}


_ID = _field("id", "int64")
_DECIMAL = {
    "name": "org.apache.kafka.connect.data.Decimal",
    "version": 1,
    "parameters": {"scale": "2", "connect.decimal.precision": "10"},
}
_KEY = {"type": "struct", "fields": [_ID], "optional": False, "name": "orders.Key"}
_VALUE = {
    "type": "struct",
    "fields": [
        _ID,
        _field("customer", "int32"),
        _field("item", "string"),
        _field("price", "bytes", **_DECIMAL),
        _field("quantity", "int32"),
        _field("note", "string"),
        _field("created", "string", name="io.debezium.time.ZonedTimestamp", version=1),
        _field("paid", "boolean"),
    ],
    "optional": False,
    "name": "orders.Value",
}


def _order(number: int) -> tuple[bytes, bytes]:
    key = number + 1  # the remainder of the key tells the partition
    price = (number % 10_000).to_bytes(3, "big")
    payload = {
        "id": key,
        "customer": number % 1000,
        "item": f"item {number % 97}",
        "price": base64.b64encode(price).decode(),
        "quantity": number % 7,
        "note": "x" * 40,
        "created": f"2026-01-{number % 28 + 1:02}T12:00:{number % 60:02}.000000Z",
        "paid": number % 2 == 0,
    }
    return (
        _json({"schema": _KEY, "payload": {"id": key}}),
        _json({"schema": _VALUE, "payload": payload}),
    )
