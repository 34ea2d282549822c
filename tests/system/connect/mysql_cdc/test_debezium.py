"""Debezium itself as the judge: the same records over random transactions, and taking turns."""

import os
import random
import shutil
import threading
import time
from collections.abc import Iterator

import pytest

from support.cdc import DirectRun, by_topic, payloads, shown
from support.debezium import MARIADB, Debezium, running_debezium
from support.mariadb import MariaDb
from support.mysql_cdc import config
from system.connect.asking import places_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def debezium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debezium]:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("Debezium needs Java, and Maven brings it")
    with running_debezium(tmp_path_factory.mktemp("debezium"), MARIADB) as judge:
        yield judge


TABLES = (
    "CREATE TABLE plain (id int PRIMARY KEY, a text, b decimal(9, 3), c timestamp(6) NULL,"
    " d enum('sad', 'ok', 'happy'))",
    "CREATE TABLE wide (k varchar(20), n bigint unsigned, v json DEFAULT '{}', f double,"
    " t datetime(3), s set('a', 'b', 'c'), y year, PRIMARY KEY (k, n))",
    "CREATE TABLE whole (id int PRIMARY KEY, big mediumtext CHARACTER SET latin1, u uuid, d date,"
    " x decimal(20, 10), i time(3), z bit(12), m mediumint unsigned)",
    "CREATE TABLE keyless (a int, b varbinary(10))",
)


MODES = {
    "decimal_handling_mode": ("precise", "double", "string"),
    "time_precision_mode": (
        *("adaptive_time_microseconds", "connect"),
        *("isostring", "microseconds", "nanoseconds"),
    ),
    "bigint_unsigned_handling_mode": ("long", "precise"),
    "binary_handling_mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "tombstones_on_delete": ("true", "false"),
}


def change(draw: random.Random) -> str:
    n = draw.randrange(40)
    text = "".join(draw.choices(("a", "ä", "\\\\", '"', "{", "\n", "€", " ", "0"), k=n % 8))
    number = f"{draw.uniform(-9e5, 9e5):.3f}"
    when = f"'2001-01-01' + INTERVAL {draw.randrange(10**15)} MICROSECOND"
    mood = draw.choice(("'sad'", "'ok'", "null", "3"))
    big = draw.choice(("null", "'x'", "repeat('ÿ', 5000)", "big"))
    return draw.choice(
        (
            f"INSERT INTO plain VALUES ({n}, '{text}', {number}, {when}, {mood})"
            " ON DUPLICATE KEY UPDATE a = VALUES(a), c = VALUES(c)",
            f"UPDATE plain SET b = {number}, d = {mood} WHERE id = {n}",
            f"UPDATE IGNORE plain SET id = id + 1000 WHERE id = {n}",
            f"DELETE FROM plain WHERE id = {n} OR id >= 1000",
            f"REPLACE INTO plain (id, a) VALUES ({n}, 'replaced')",
            f"INSERT IGNORE INTO wide VALUES ('k{n}', {n + 2**63 - 8}, '{{\"n\": {n}}}',"
            f" {number}, {when}, {n % 8}, {1970 + n})",
            f"UPDATE wide SET f = {number}, s = 'b,c' WHERE k = 'k{n}'",
            f"UPDATE IGNORE wide SET k = concat(k, 'x') WHERE k = 'k{n}'",
            f"DELETE FROM wide WHERE k LIKE 'k{n}%'",
            # Debezium takes a UUID that ends in zeros for another one: docs/connect-cdc.md.
            f"INSERT IGNORE INTO whole (id, big, u, d, x, i, z, m) VALUES ({n},"
            f" repeat('z', {n * 150}), '6f1d7b2e-0000-4000-8000-000000{n:02}0001',"
            f" '2020-01-01' + INTERVAL {n} DAY,"
            f" {number}, SEC_TO_TIME({number}), {n}, {n * 400_000})",
            f"UPDATE whole SET big = {big}, x = x + 1 WHERE id = {n}",
            f"UPDATE IGNORE whole SET x = null, id = id + 1000 WHERE id = {n}",
            f"DELETE FROM whole WHERE id IN ({n}, {n + 1000})",
            f"INSERT INTO keyless (a, b) VALUES ({n}, x'{n:02x}'), ({n}, null)",
        )
    )


def transaction(draw: random.Random) -> list[str]:
    steps = [change(draw) for _ in range(draw.randrange(1, 8))]
    return ["BEGIN", *steps, "ROLLBACK" if draw.random() < 0.1 else "COMMIT"]


def definition(draw: random.Random, n: int) -> str:
    return draw.choice(
        (
            f"ALTER TABLE keyless ADD COLUMN c{n} int DEFAULT {n} FIRST",
            f"ALTER TABLE whole ADD COLUMN c{n} varchar(10) NOT NULL DEFAULT 'v'",
            f"ALTER TABLE plain MODIFY b decimal({9 + n % 5}, 3)",
            f"CREATE TABLE made{n} (id bigint PRIMARY KEY, t tinyint(1))",
        )
    )


def keys_for(mariadb: MariaDb, debezium: Debezium, history: str, **more: str) -> dict[str, str]:
    name = mariadb.name
    keys = config(mariadb, name=name, topic_prefix=name, **more)
    return keys | {
        "database.ssl.mode": "disable",
        "database.server.id": str(random.randrange(6000, 10**6)),
        "schema.history.internal.kafka.bootstrap.servers": debezium.bootstrap,
        "schema.history.internal.kafka.topic": history,
    }


def test_random_transactions_give_the_same_records(debezium: Debezium, mariadb: MariaDb) -> None:
    seed = int(os.environ.get("OTTLA_SEED") or time.time_ns())
    print(f"OTTLA_SEED={seed}")  # which is shown when it fails
    draw = random.Random(seed)
    mariadb.run(*TABLES)
    mariadb.run(*(change(draw) for _ in range(60)))
    name = mariadb.name
    modes = {key: draw.choice(values) for key, values in MODES.items()}
    print(modes)
    debezium.put(keys_for(mariadb, debezium, f"{name}-theirs", **modes))
    ours = keys_for(mariadb, debezium, f"{name}-ours", **modes)
    with DirectRun(ours) as run:
        run.until(lambda: "snapshot" not in (run.offset or {"snapshot": ""}), 60)
        run.step()  # which ends the snapshot's transaction: else no table could be altered
        await_stream(debezium, name)
        for n in range(150):
            mariadb.run(*transaction(draw))
            if n % 10 == 9:
                mariadb.run(definition(draw, n))
        mariadb.run("DELETE FROM plain", "INSERT INTO plain (id) VALUES (-1)")
        run.until(lambda: any(is_end(one.key) for one in run.records[-1:]), 60)
    changes = [one for one in run.records if one.topic != name]  # definitions: `test_golden`
    wanted = by_topic(shown(one) for one in changes)
    deadline = time.monotonic() + 60
    while True:
        theirs = by_topic(one for one in debezium.records(name))
        if sum(map(len, theirs.values())) >= len(changes) or time.monotonic() > deadline:
            break
        time.sleep(1)
    debezium.ask("DELETE", f"/connectors/{name}")
    for topic in sorted(theirs.keys() | wanted.keys()):
        there, here = theirs.get(topic, []), wanted.get(topic, [])
        for at, (one, mine) in enumerate(zip(there, here, strict=False)):
            assert mine == one, f"{topic}, record {at}\n" + "\n".join(places_of(one, mine))
        assert len(there) == len(here), f"{topic}: Debezium {len(there)}, Ottla {len(here)}"


def is_end(key: object) -> bool:
    return getattr(key, "values", None) == {"id": -1}


def await_stream(debezium: Debezium, name: str) -> None:
    """Its snapshot has ended, and the offset says so."""
    debezium.wait_until(name, "RUNNING")
    deadline = time.monotonic() + 60
    while "snapshot" in (debezium.offset(name) or {"snapshot": ""}):
        assert time.monotonic() < deadline, "Debezium's snapshot does not end"
        time.sleep(0.5)


def test_taking_turns_under_load_loses_nothing_and_repeats_nothing(
    debezium: Debezium, mariadb: MariaDb
) -> None:
    """Debezium, we, Debezium, we, from each other's offsets and definitions."""
    mariadb.run(
        "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, item text)",
        "INSERT INTO orders (item) SELECT 'old' FROM seq_1_to_200",
    )
    done = threading.Event()

    def write() -> None:
        connection = mariadb.connect(autocommit=True)
        with connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute("INSERT INTO orders (item) SELECT 'new' FROM seq_1_to_5")
                done.wait(0.02)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(2)]
    name = mariadb.name
    keys = keys_for(mariadb, debezium, f"{name}-history", max_batch_size="64")
    ours: list[int] = []
    try:
        debezium.put(keys)
        await_stream(debezium, name)
        for one in writers:
            one.start()
        for turn in range(2):
            mariadb.run(f"ALTER TABLE orders ADD COLUMN theirs{turn} int DEFAULT 1 AFTER id")
            time.sleep(5)
            debezium.ask("PUT", f"/connectors/{name}/stop")
            debezium.wait_until(name, "STOPPED")
            with DirectRun(keys, debezium.offset(name)) as run:
                run.until_count(150)
                mariadb.run(f"ALTER TABLE orders ADD COLUMN ours{turn} int DEFAULT 1 FIRST")
                run.until(lambda run=run, turn=turn: has(run, f"ours{turn}"))  # type: ignore[misc]
            ours += [one["after"]["id"] for one in payloads(run.records) if "op" in one]
            assert run.offset is not None
            debezium.alter_offset(name, name, run.offset)
            if turn:
                done.set()
                for one in writers:
                    one.join()
            debezium.ask("PUT", f"/connectors/{name}/resume")
            debezium.wait_until(name, "RUNNING")
        wanted = {number for (number,) in mariadb.rows("SELECT id FROM orders")}
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


def has(run: DirectRun, column: str) -> bool:
    value = run.records[-1].value if run.records else None
    after = value.values.get("after") if value is not None else None
    return after is not None and column in after.values
