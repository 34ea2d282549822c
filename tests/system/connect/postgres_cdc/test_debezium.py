"""Debezium itself as the judge: the same records over random transactions, and taking turns."""

import os
import random
import shutil
import threading
import time
from collections.abc import Iterator

import pytest

from support.cdc import DirectRun, by_topic, config, payloads, shown
from support.debezium import Debezium, running_debezium
from support.postgres import Postgres
from system.connect.asking import places_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def debezium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debezium]:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("Debezium needs Java, and Maven brings it")
    with running_debezium(tmp_path_factory.mktemp("debezium")) as judge:
        yield judge


TABLES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE TABLE plain (id int PRIMARY KEY, a text, b numeric(9, 3), c timestamptz, d mood)",
    "CREATE TABLE wide (k text, n bigint, v jsonb DEFAULT '{}', i int[], f float8, t timestamp,"
    " PRIMARY KEY (k, n))",
    "CREATE TABLE whole (id int PRIMARY KEY, big text, u uuid, d date, x numeric)",
    "ALTER TABLE whole REPLICA IDENTITY FULL",
    "ALTER TABLE whole ALTER big SET STORAGE EXTERNAL",
    "CREATE TABLE keyless (a int, b bytea)",
)


def free(table: str, n: int) -> str:
    return f"NOT EXISTS (SELECT FROM {table} WHERE id = {n + 1000})"


MODES = {
    "decimal_handling_mode": ("precise", "double", "string"),
    "time_precision_mode": (
        *("adaptive", "adaptive_time_microseconds", "connect"),
        *("isostring", "microseconds", "nanoseconds"),
    ),
    "binary_handling_mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "tombstones_on_delete": ("true", "false"),
}


def change(draw: random.Random) -> str:
    n = draw.randrange(40)
    text = "".join(draw.choices("aä\\\"',{}\n€ 0", k=draw.randrange(8))).replace("'", "''")
    number = f"{draw.uniform(-9e5, 9e5):.3f}"
    when = (
        f"timestamp '2000-01-01' + interval '{draw.randrange(10**9)} s {draw.randrange(10**6)} us'"
    )
    mood = draw.choice(("'sad'", "'ok'", "null"))
    big = draw.choice(("null", "'x'", "repeat('y', 5000)", "big"))
    return draw.choice(
        (
            f"INSERT INTO plain VALUES ({n}, E'{text.replace(chr(92), chr(92) * 2)}', {number},"
            f" {when}, {mood}) ON CONFLICT (id) DO UPDATE SET a = excluded.a, c = excluded.c",
            f"UPDATE plain SET b = {number}, d = {mood} WHERE id = {n}",
            f"UPDATE plain SET id = id + 1000 WHERE id = {n} AND {free('plain', n)}",
            f"DELETE FROM plain WHERE id = {n} OR id >= 1000",
            f"INSERT INTO wide VALUES ('k{n}', {n}, '{{\"n\": {n}}}', '{{{n},null}}', {number},"
            f" {when}) ON CONFLICT DO NOTHING",
            f"UPDATE wide SET f = {number} WHERE k = 'k{n}'",
            f"UPDATE wide SET n = n + 1000 WHERE n = {n} AND k = 'k{n}' AND NOT EXISTS"
            f" (SELECT FROM wide WHERE n = {n + 1000})",
            f"DELETE FROM wide WHERE k = 'k{n}'",
            f"INSERT INTO whole VALUES ({n}, repeat('z', {n * 150}),"
            f" '6f1d7b2e-0000-4000-8000-0000000000{n:02}', '2020-01-01'::date + {n}, {number})"
            " ON CONFLICT DO NOTHING",
            f"UPDATE whole SET big = {big}, x = x + 1 WHERE id = {n}",
            f"UPDATE whole SET x = null, id = id + 1000 WHERE id = {n} AND {free('whole', n)}",
            f"DELETE FROM whole WHERE id IN ({n}, {n + 1000})",
            f"INSERT INTO keyless VALUES ({n}, '\\x{n:02x}')",
        )
    )


def transaction(draw: random.Random) -> str:
    steps = "; ".join(change(draw) for _ in range(draw.randrange(1, 8)))
    return f"BEGIN; {steps}; {'ROLLBACK' if draw.random() < 0.1 else 'COMMIT'}"


def test_random_transactions_give_the_same_records(
    debezium: Debezium, postgres: Postgres, slot: str
) -> None:
    seed = int(os.environ.get("OTTLA_SEED") or time.time_ns())
    draw = random.Random(seed)
    modes = {key: draw.choice(values) for key, values in MODES.items()}
    print(f"OTTLA_SEED={seed}", modes)  # which is shown when it fails
    postgres.run(*TABLES)
    postgres.run(*(change(draw) for _ in range(60)))
    name = postgres.name
    keys = config(postgres, name=name, topic_prefix=name, slot_name=f"{slot}_d", **modes)
    debezium.put(keys)
    with DirectRun(keys | {"slot.name": slot}) as run:
        run.step(5)
        debezium.wait_until(name, "RUNNING")
        await_slot(postgres, f"{slot}_d")
        postgres.run(*(transaction(draw) for _ in range(150)))
        postgres.run("DELETE FROM plain", "INSERT INTO plain VALUES (-1)")
        run.until(lambda: any(is_end(one.key) for one in run.records[-1:]), 60)
    wanted = by_topic(shown(one) for one in run.records)
    deadline = time.monotonic() + 60
    while True:
        theirs = by_topic(debezium.records(name))
        if sum(map(len, theirs.values())) >= len(run.records) or time.monotonic() > deadline:
            break
        time.sleep(1)
    debezium.ask("DELETE", f"/connectors/{name}")
    for topic in sorted(theirs.keys() | wanted.keys()):
        there, here = theirs.get(topic, []), wanted.get(topic, [])
        for at, (one, ours) in enumerate(zip(there, here, strict=False)):
            assert ours == one, f"{topic}, record {at}\n" + "\n".join(places_of(one, ours))
        assert len(there) == len(here), f"{topic}: Debezium {len(there)}, Ottla {len(here)}"


def is_end(key: object) -> bool:
    return getattr(key, "values", None) == {"id": -1}


def await_slot(postgres: Postgres, slot: str) -> None:
    deadline = time.monotonic() + 60
    query = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{slot}'"
    while postgres.rows(query) != [(True,)]:
        assert time.monotonic() < deadline, "Debezium does not stream"
        time.sleep(0.2)


def test_taking_turns_under_load_loses_nothing_and_repeats_nothing(
    debezium: Debezium, postgres: Postgres, slot: str
) -> None:
    """Debezium, we, Debezium, we, each from the offset that the other one stored."""
    postgres.run(
        "CREATE TABLE orders (id bigserial PRIMARY KEY, item text)",
        "INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 200)",
    )
    done = threading.Event()

    def write() -> None:
        connection = postgres.connect()
        while not done.is_set():
            with connection, connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 5)")
            done.wait(0.02)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(2)]
    name = postgres.name
    keys = config(postgres, name=name, topic_prefix=name, slot_name=slot, max_batch_size="64")
    ours: list[int] = []
    try:
        debezium.put(keys)
        debezium.wait_until(name, "RUNNING")
        await_slot(postgres, slot)
        for one in writers:
            one.start()
        for turn in range(2):
            time.sleep(5)
            debezium.ask("PUT", f"/connectors/{name}/stop")
            debezium.wait_until(name, "STOPPED")
            with DirectRun(keys, debezium.offset(name)) as run:
                run.until_count(300)
            ours += [one["after"]["id"] for one in payloads(run.records)]
            assert run.offset is not None
            debezium.alter_offset(name, name, run.offset)
            if turn:
                done.set()
                for one in writers:
                    one.join()
            debezium.ask("PUT", f"/connectors/{name}/resume")
            debezium.wait_until(name, "RUNNING")
            await_slot(postgres, slot)
        wanted = {number for (number,) in postgres.rows("SELECT id FROM orders")}
        deadline = time.monotonic() + 60
        theirs: list[int] = []
        while not wanted <= {*ours, *theirs} and time.monotonic() < deadline:
            values = [one["value"]["payload"] for one in debezium.records(name)]
            theirs = [one["after"]["id"] for one in values]
            time.sleep(1)
    finally:
        done.set()
        for one in writers:
            if one.ident is not None:
                one.join()
        debezium.ask("DELETE", f"/connectors/{name}")
    assert wanted <= {*ours, *theirs}, "rows were lost"
    assert len(ours) == len(set(ours))
    assert not set(ours) & set(theirs), "rows that one wrote were written by the other, too"
