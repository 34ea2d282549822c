"""`ottla demo`: a broker, events flowing in, a consumer group that shows them live.

Everything goes through the front door: the node is a process as `ottla start` makes it, producer
and consumers are clients like any other. Without a terminal it prints plain lines.
"""

import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewTopic
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ottla.cli.output import out
from ottla.client.connection import Connection
from ottla.pipelines.runtime.extra import need_extra
from ottla.pipelines.runtime.java import find_java
from ottla.testing.node import Node

TOPIC = "orders"
GROUP = "dashboard"
PARTITIONS = 4
_GOODS = {"tea": 4.2, "coffee": 7.9, "honey": 11.5, "bread": 3.1, "soap": 2.4, "candles": 6.0}
_CITIES = ("Prague", "Brno", "Vienna", "Krakow", "Leipzig", "Trieste")


def demo(
    rate: Annotated[int, typer.Option(min=1, help="Events a second.")] = 20,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so long; without it, at Ctrl-C.")
    ] = None,
    readers: Annotated[int, typer.Option(min=1, max=PARTITIONS, help="Members of the group.")] = 2,
    spark: Annotated[
        bool, typer.Option("--spark", help="Let Spark join, window and sum them (Java 17).")
    ] = False,
    secure: Annotated[
        bool, typer.Option("--secure", help="All of it by SCRAM over TLS, with access rules.")
    ] = False,
) -> None:
    """See it work: a broker, sample orders, and a group of consumers counting them."""
    if spark:
        show_pipeline(rate, seconds, secure=secure)
        return
    began = time.monotonic()
    with Node(secure=secure) as node:
        board = Board(node.connection, address(node), time.monotonic() - began)
        create_topic(node.connection)
        stopping = threading.Event()
        workers = [threading.Thread(target=feed, args=(board, rate, stopping))]
        workers += [
            threading.Thread(target=read, args=(board, f"reader-{number}", stopping))
            for number in range(1, readers + 1)
        ]
        for worker in workers:
            worker.start()
        try:
            show(board, None if seconds is None else time.monotonic() + seconds)
        except KeyboardInterrupt:
            pass
        finally:
            stopping.set()
            for worker in workers:
                worker.join()
    out.print(f"{board.sent:,} events sent, {board.read:,} read. The broker has stopped.")


def show_pipeline(rate: int, seconds: float | None, *, secure: bool = False) -> None:
    """A broker, orders flowing in, customers in a database, and Spark that joins and sums them."""
    need_extra()
    from ottla.cli.demo_table import customers_in_a_table
    from ottla.pipelines.engine.options import RunOptions
    from ottla.pipelines.lifecycle.showcase import run_showcase
    from ottla.pipelines.runtime.sessions import stop as stop_spark

    find_java()  # says what to install before anything has started
    for number in (signal.SIGINT, signal.SIGTERM):  # either ends it cleanly, also from a script
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="ottla-demo-") as folder, Node(secure=secure) as node:
        print(f"broker at {address(node)}", flush=True)
        options = RunOptions(state=Path(folder))
        try:
            results = run_showcase(
                node.connection,
                rate=rate,
                seconds=seconds,
                options=options,
                customers=customers_in_a_table(node.connection, Path(folder)),
            )
        finally:
            stop_spark()
    print(f"{results:,} results. Spark and the broker have stopped.")


def address(node: Node) -> str:
    """Where it is, and what others need who want to look at it meanwhile."""
    files = node.client_files
    return node.bootstrap_servers + (f" by SASL_SSL, client files in {files}" if files else "")


def create_topic(connection: Connection) -> None:
    admin = connection.admin()
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(10)


class Board:
    """What has happened so far; written by the workers, drawn by the main thread."""

    def __init__(self, connection: Connection, address: str, started_in_s: float) -> None:
        self.connection = connection
        self.address = address
        self.started_in_s = started_in_s
        self.sent = 0
        self.read = 0
        self.turnover: Counter[str] = Counter()
        self.latencies_ms: deque[float] = deque(maxlen=500)
        self.latest: deque[tuple[str, int, int, dict[str, object]]] = deque(maxlen=8)
        self.fresh: deque[tuple[str, int, int, dict[str, object]]] = deque(maxlen=1000)
        self.assigned: dict[str, list[int]] = {}
        self.lock = threading.Lock()

    def saw(self, reader: str, partition: int, offset: int, order: dict[str, object]) -> None:
        with self.lock:
            self.read += 1
            self.turnover[str(order["city"])] += round(float(str(order["total"])) * 100)
            self.latencies_ms.append((time.time() - float(str(order["at"]))) * 1000)
            entry = (reader, partition, offset, order)
            self.latest.append(entry)
            self.fresh.append(entry)


def orders(seed: int = 1) -> Iterator[dict[str, object]]:
    """Sample orders without end, the same ones for the same seed (but for the time)."""
    chance = Random(seed)
    number = 0
    while True:
        number += 1
        item, pieces = chance.choice(list(_GOODS)), chance.randint(1, 5)
        yield {
            "order": number,
            "city": chance.choice(_CITIES),
            "item": item,
            "pieces": pieces,
            "total": round(_GOODS[item] * pieces, 2),
            "at": time.time(),
        }


def feed(board: Board, rate: int, stopping: threading.Event) -> None:
    producer = board.connection.producer()
    for order in orders():
        producer.produce(TOPIC, json.dumps(order), key=str(order["city"]))
        producer.poll(0)
        board.sent += 1
        if stopping.wait(1 / rate):
            break
    producer.flush(5)


def read(board: Board, name: str, stopping: threading.Event) -> None:
    consumer = board.connection.consumer(
        {
            "group.id": GROUP,
            "client.id": name,
            "auto.offset.reset": "earliest",
        }
    )

    def assigned(_consumer: Consumer, parts: list[TopicPartition]) -> None:
        board.assigned[name] = sorted(part.partition for part in parts)

    consumer.subscribe([TOPIC], on_assign=assigned)
    while not stopping.is_set():
        message = consumer.poll(0.1)
        if message is None or message.error() is not None:
            continue
        order = json.loads(message.value() or b"{}")
        board.saw(name, message.partition() or 0, message.offset() or 0, order)
    consumer.close()


def show(board: Board, until: float | None) -> None:
    """Until the deadline, or for ever; a drawing for a terminal, lines for a pipe."""

    def going_on() -> bool:
        return until is None or time.monotonic() < until

    if sys.stdout.isatty():
        with Live(draw(board), console=out, refresh_per_second=8) as live:
            while going_on():
                time.sleep(0.125)
                live.update(draw(board))
        return
    print(f"broker at {board.address}, started in {board.started_in_s:.2f} s", flush=True)
    while going_on():
        time.sleep(0.1)
        while board.fresh:
            reader, partition, offset, order = board.fresh.popleft()
            print(f"{reader}  {TOPIC}-{partition}@{offset}  {_told(order)}", flush=True)


def draw(board: Board) -> RenderableType:
    with board.lock:
        latest, turnover = list(board.latest), board.turnover.most_common()
        latencies = sorted(board.latencies_ms)
    half = latencies[len(latencies) // 2] if latencies else 0.0
    head = Text.assemble(
        ("broker ", "dim"),
        (board.address, "bold"),
        (f"   started in {board.started_in_s:.2f} s", "dim"),
        ("   sent ", "dim"),
        f"{board.sent:,}",
        ("   read ", "dim"),
        f"{board.read:,}",
        ("   end to end p50 ", "dim"),
        f"{half:.1f} ms",
    )
    body = Table.grid(padding=(0, 4))
    body.add_row(_group_table(board), _turnover_table(turnover))
    events = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("reader", "partition", "offset", "order"):
        events.add_column(column)
    for reader, partition, offset, order in latest:
        events.add_row(reader, f"{TOPIC}-{partition}", f"{offset:,}", _told(order))
    return Panel(Group(head, "", body, "", events), title="ottla", title_align="left")


def _group_table(board: Board) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column(f"group {GROUP}")
    table.add_column("partitions")
    for reader, partitions in sorted(board.assigned.items()):
        table.add_row(reader, ", ".join(map(str, partitions)))
    return table


def _turnover_table(turnover: list[tuple[str, int]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("city")
    table.add_column("turnover", justify="right")
    table.add_column("")
    most = turnover[0][1] if turnover else 1
    for city, cents in turnover:
        table.add_row(city, f"{cents / 100:,.2f}", Text("█" * round(24 * cents / most), "green"))
    return table


def _told(order: dict[str, object]) -> str:
    return f"{order['pieces']} x {order['item']} to {order['city']}, {order['total']}"
