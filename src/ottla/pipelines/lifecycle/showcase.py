"""The main job as one call: orders and customers flow in, Spark joins, windows and sums them.

`run_showcase` is what `make run` shows. Everything goes through the front door: the generator is a
producer like any other, the application is one that anybody could have written.
"""

import json
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ottla.client.connection import Connection
from ottla.pipelines.api.app import App
from ottla.pipelines.api.windows import tumbling
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.formats import json as json_format
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.lifecycle.handle import Running
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.lifecycle.views import Lines, LiveTable, choose_view, render
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import NewTopic

if TYPE_CHECKING:
    from rich.console import RenderableType

ORDERS, CUSTOMERS, TURNOVER = "orders", "customers", "turnover"
COUNTRIES = ("Austria", "Czechia", "Germany", "Hungary", "Poland", "Slovakia")
ITEMS = {"tea": 4.2, "coffee": 7.9, "honey": 11.5, "bread": 3.1, "soap": 2.4, "candles": 6.0}
PEOPLE = 100
TIMESTAMP_HEADER = "ottla.timestamp"


class Customers(Protocol):
    """Where customers are kept: what is put there arrives in the topic."""

    def put(self, key: str, name: str, country: str) -> None: ...

    def begin(self, arrived: Callable[[], None]) -> None:
        """Spark is there. `arrived` is called when all that was put so far is in the topic."""

    def news(self) -> str | None:
        """A sentence for who watches."""

    def close(self) -> None: ...


class ProducedCustomers:
    """Straight into the topic."""

    def __init__(self, connection: Connection) -> None:
        self._producer = connection.producer({"linger.ms": 1})

    def put(self, key: str, name: str, country: str) -> None:
        person = {"name": name, "country": country}
        self._producer.produce(CUSTOMERS, json.dumps(person), key=key)
        self._producer.poll(0)

    def begin(self, arrived: Callable[[], None]) -> None:
        self._producer.flush(10)
        arrived()

    def news(self) -> str | None:
        return None

    def close(self) -> None:
        self._producer.flush(5)


def shop(connection: Connection) -> App:
    """Turnover by country in windows of ten seconds, over orders joined with their customers."""
    client = connection.librdkafka()
    app = App("shop", bootstrap=connection.bootstrap, client=client, latency="low")
    orders = app.stream(
        ORDERS, value=json_format("customer STRING NOT NULL, item STRING, amount DOUBLE")
    )
    customers = app.table(CUSTOMERS, value=json_format("name STRING, country STRING"))
    (
        orders.filter("amount > 0")
        .key_by("customer")
        .join(customers)
        .group_by("country")
        .windowed(tumbling("10 seconds", grace="5 seconds"))
        .agg(orders="count(*)", turnover="round(sum(amount), 2)")
        .to(TURNOVER)
    )
    return app


def run_showcase(
    connection: Connection,
    *,
    rate: int = 50,
    seconds: float | None = None,
    options: RunOptions | None = None,
    on_result: Callable[[dict[str, Any]], None] | None = None,
    customers: Customers | None = None,
    results_max: int | None = None,
) -> int:
    """Feed and run the shop until `seconds` have passed, so many results came, or Ctrl-C.

    `on_result` is called with every row of the turnover as it arrives. Returns how many came.
    `customers` are closed when all has ended, before Spark.
    """
    app = shop(connection)
    definition = app.definition()
    create(definition, [NewTopic(ORDERS, 2), NewTopic(CUSTOMERS, 2)])

    def take(row: dict[str, Any]) -> None:
        if on_result is not None:
            on_result(row)
        if results.count == results_max:
            runner.stop()

    results = Results(connection, take)
    kept = customers or ProducedCustomers(connection)
    generator = Generator(connection, rate, kept)
    generator.customers()
    view = _View(results, kept, generator.wanted.set)
    runner = Runner(make_plan(definition), options or RunOptions(), view)
    threads = [threading.Thread(target=generator.run), threading.Thread(target=results.run)]
    timer = threading.Timer(seconds, runner.stop) if seconds is not None else None
    if timer is not None:
        threads.append(timer)
    for thread in threads:
        thread.daemon = True
        thread.start()
    try:
        with view:
            Running(runner).wait()
    finally:
        generator.stopping.set()
        generator.wanted.set()
        results.stopping.set()
        if timer is not None:
            timer.cancel()
        for thread in threads:
            thread.join(10)
        kept.close()
    return results.count


class Generator:
    """Customers first, then orders without end; a customer moves now and then."""

    def __init__(
        self, connection: Connection, rate: int, customers: Customers, seed: int = 1
    ) -> None:
        self.stopping = threading.Event()
        self.wanted = threading.Event()  # orders that wait for Spark's start would look slow
        self._rate = rate
        self._chance = random.Random(seed)
        self._customers = customers
        self._producer = connection.producer({"linger.ms": 1})

    def customers(self) -> None:
        for number in range(PEOPLE):
            self._customer(number)

    def run(self) -> None:
        self.wanted.wait()
        while not self.stopping.wait(1 / self._rate):
            item = self._chance.choice(list(ITEMS))
            order = {
                "customer": f"c{self._chance.randrange(PEOPLE)}",
                "item": item,
                "amount": round(ITEMS[item] * self._chance.randint(1, 5), 2),
            }
            self._producer.produce(ORDERS, json.dumps(order), key=item)
            if self._chance.random() < 0.01:
                self._customer(self._chance.randrange(PEOPLE))
            self._producer.poll(0)
        self._producer.flush(5)

    def _customer(self, number: int) -> None:
        country = self._chance.choice(COUNTRIES)
        self._customers.put(f"c{number}", f"Customer {number}", country)


class Results:
    """The newest rows of the turnover, and how old the newest order in each was on arrival."""

    def __init__(self, connection: Connection, on_result: Callable[[dict[str, Any]], None]) -> None:
        self.stopping = threading.Event()
        self.count = 0
        self.rows: dict[str, dict[str, Any]] = {}
        self.latencies_ms: deque[float] = deque(maxlen=200)
        self._connection = connection
        self._on_result = on_result

    def run(self) -> None:
        consumer = self._connection.consumer(
            {
                "group.id": "shop-window",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )
        consumer.subscribe([TURNOVER])
        while not self.stopping.is_set():
            message = consumer.poll(0.2)
            if message is None or message.error() or message.value() is None:
                continue
            self._take(json.loads(message.value() or b"{}"), dict(message.headers() or []))
        consumer.close()

    def _take(self, row: dict[str, Any], headers: dict[str, Any]) -> None:
        self.count += 1
        self.rows[row["country"]] = row
        if sent := headers.get(TIMESTAMP_HEADER):
            self.latencies_ms.append(time.time() * 1000 - int(sent))
        self._on_result(row)

    def latency_ms(self) -> float | None:
        ordered = sorted(self.latencies_ms)
        return ordered[len(ordered) // 2] if ordered else None


class _View:
    """The usual view of a run, and the results below it."""

    def __init__(self, results: Results, customers: Customers, arrived: Callable[[], None]) -> None:
        self._results = results
        self._customers = customers
        self._arrived = arrived
        self._is_live = False
        self._inner: LiveTable | Lines = choose_view()
        self._told = 0.0

    def __enter__(self) -> "_View":
        if isinstance(self._inner, LiveTable):
            self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if isinstance(self._inner, LiveTable):
            self._inner.__exit__(*error)

    def say(self, sentence: str) -> None:
        self._inner.say(sentence)

    def show(self, status: Status) -> None:
        if status.phase == "live" and not self._is_live:
            self._is_live = True
            self._customers.begin(self._arrived)
        if isinstance(self._inner, LiveTable):
            self._inner.draw(self._render(status))
            return
        if time.monotonic() - self._told > 5 and self._results.count:
            self._told = time.monotonic()
            latency = self._results.latency_ms() or 0.0
            newest = sorted(self._results.rows.values(), key=lambda row: str(row["country"]))
            totals = ", ".join(f"{row['country']} {row['turnover']}" for row in newest)
            self.say(f"{self._results.count:,} results, median age {latency:.0f} ms: {totals}")
            if news := self._customers.news():
                self.say(news)

    def _render(self, status: Status) -> "RenderableType":
        from rich.console import Group
        from rich.table import Table

        latency = self._results.latency_ms()
        age = "" if latency is None else f" · median age {latency:.0f} ms"
        title, news = f"turnover of the newest ten seconds{age}", self._customers.news()
        table = Table(title=title, caption=news, expand=True)
        table.add_column("country")
        for name in ("window", "orders", "turnover"):
            table.add_column(name, justify="right")
        for country, row in sorted(self._results.rows.items()):
            window = str(row["window_start"])[11:19]
            table.add_row(country, window, str(row["orders"]), f"{row['turnover']:.2f}")
        return Group(render(status), table)
