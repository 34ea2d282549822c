"""Ottla's pipelines, Kafka Streams and plain Spark on the same four jobs, in one run.

usage: python bench/pipelines.py [--bootstrap HOST:PORT] [--count 1000000] [--jobs filter,count,…]
       [--systems real-time,exactly-once,spark,streams] [--streams-libs DIR] [--starts N]

Throughput: a backlog of `count` small records in 2 partitions, warm, from the first record taken to
the last. Latency: one record at a time, warm, from sending it to reading its result. CPU is that of
the processes that do the work, per million records. Prints a table and one JSON line per measure.
Kafka Streams runs with its defaults; its latency is measured without its cache, which would hold
an aggregate's results back until it commits, every 30 s.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.pipelines import App, long, string, tumbling
from ottla.pipelines.api.app import App as Application
from ottla.pipelines.engine.queries import Starter, loads_tables
from ottla.pipelines.lifecycle.backlog import CATCH_UP_FROM, may_catch_up
from ottla.pipelines.lifecycle.brokers import create, describe
from ottla.pipelines.lifecycle.progress import Listener, Recorder
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import NewTopic, topic_names, wanted
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import SparkSettings
from ottla.testing.node import Node

JOBS = ("filter", "count", "join", "window")
SYSTEMS = ("real-time", "exactly-once", "spark", "streams")
KEYS = 1000
PARTITIONS = 2
HERE = Path(__file__).parent
STREAMS_VERSION = "4.3.1"
LATENCY_RECORDS = 300
LATENCY_SECONDS_MAX = 7.0
LATENCY_WARM_UP_S = 25.0  # Java compiles what a small batch runs through only after many of them


@dataclass(frozen=True)
class Measure:
    job: str
    system: str
    records_per_s: float
    cpu_s_per_million: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Broker:
    bootstrap: str
    pid: int | None = None  # when it is ours, and so a process below this one


@dataclass(frozen=True)
class Topics:
    """The topics of one measure: input with its backlog, a table, an output of its own."""

    broker: Broker
    input: str
    table: str
    output: str

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap


def application(job: str, topics: Topics, system: str) -> App:
    """The job as an Ottla application."""
    low = system == "real-time"
    app = Application(
        f"bench-{job}-{uuid.uuid4().hex[:6]}",
        bootstrap=topics.bootstrap,
        latency="low" if low else "throughput",
        delivery=None if low else "exactly_once" if system == "exactly-once" else "at_least_once",
    )
    stream = app.stream(topics.input, value=string())
    if job == "filter":
        stream.filter("value LIKE '%7'").to(topics.output)
    elif job == "count":
        stream.group_by_key().count("n").to(topics.output, value=long("n"))
    elif job == "join":
        table = app.table(topics.table, value=string("row"))
        joined = stream.join(table).select(value="concat(value, row)")
        joined.to(topics.output, value=string())
    else:
        summed = stream.group_by_key().windowed(tumbling("1 minute")).agg(n="sum(bigint(value))")
        summed.to(topics.output, value=long("n"), key="key")
    return app


def fill(bootstrap: str, topic: str, table: str, count: int) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
            "partitioner": "murmur2_random",
        }
    )
    for number in range(KEYS):
        producer.produce(table, f"row-{number}", key=f"k{number}")
    for number in range(count):
        while True:
            try:
                producer.produce(topic, str(number % 97), key=f"k{number % KEYS}")
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(300):
        raise SystemExit("the broker did not take the backlog")


def cpu_seconds(broker: Broker) -> float:
    """Processor time of this process and all below it that do the work: the broker does not."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / ticks)
    below = {os.getpid()}
    for _ in range(6):
        below |= {pid for pid, (parent, _) in parents.items() if parent in below} - {broker.pid}
    return sum(used for pid, (_, used) in parents.items() if pid in below)


def latency(topics: Topics, seconds: float = LATENCY_SECONDS_MAX) -> tuple[float, float]:
    """p50 and p99 in milliseconds from sending a record to reading a result."""
    consumer = Consumer(
        {
            "bootstrap.servers": topics.bootstrap,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
        }
    )
    ends = [
        consumer.get_watermark_offsets(TopicPartition(topics.output, p), timeout=10)[1]
        for p in range(PARTITIONS)
    ]
    consumer.assign([TopicPartition(topics.output, p, end) for p, end in enumerate(ends)])
    producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 0})
    taken: list[float] = []
    until = time.monotonic() + seconds
    while len(taken) < LATENCY_RECORDS and time.monotonic() < until:
        while consumer.poll(0) is not None:
            pass  # what came late belongs to an earlier record
        start = time.perf_counter()
        producer.produce(topics.input, "7", key="k1")
        producer.poll(0)
        while (message := consumer.poll(10)) is not None and message.error():
            pass
        taken.append((time.perf_counter() - start) * 1000)
        time.sleep(0.02)
    consumer.close()
    producer.flush(10)
    taken.sort()
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


class Batches(Listener):
    """Knows besides when the first batch with rows began, and where the last ones' time went."""

    def __init__(self, application: str, recorder: Recorder) -> None:
        super().__init__(application, recorder)
        self.began = 0.0
        self._spent: deque[Mapping[str, int]] = deque(maxlen=30)  # by what was done, in ms

    def take(self, progress: Mapping[str, Any]) -> None:
        if progress["numInputRows"]:
            self.began = self.began or datetime.fromisoformat(progress["timestamp"]).timestamp()
            self._spent.append(progress["durationMs"])
        super().take(progress)

    def spent_ms(self) -> dict[str, float]:
        """The median of each part of a batch, in Spark's names; `triggerExecution` is the whole."""
        parts = {name for batch in self._spent for name in batch}
        return {name: median(batch.get(name, 0) for batch in self._spent) for name in sorted(parts)}


def run_ottla(job: str, topics: Topics, system: str, count: int, *, warm_up: bool) -> Measure:
    """Ottla's own run of the job; `system` "spark" is the same in plain micro-batches."""
    spark = sessions.session(SparkSettings(name="bench", parallelism=PARTITIONS))
    definition = application(job, topics, system).definition()
    plan = make_plan(definition)
    create(definition, wanted(plan, describe(definition), 1))
    recorder = Recorder()
    listener = Batches(definition.name, recorder)
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as folder:
        starter = Starter(spark, plan, topic_names(plan, 1), Path(folder))
        stage = plan.stages[0]
        if loads_tables(stage):
            loading = starter.start(stage, "load")
            loading.processAllAvailable()
            loading.stop()
        spark.streams.addListener(listener)
        before = cpu_seconds(topics.broker)
        behind = may_catch_up(stage) and count >= CATCH_UP_FROM  # as `ottla run` begins
        query = starter.start(stage, "catch-up" if behind else "live")
        with written(topics) as rows:
            if system == "real-time" and not behind:  # it reports late, its rows come at once
                wait_until(lambda: rows() > 0, query)
                start = time.time()
                wait_until(lambda: rows() >= expected_rows(job, count), query)
            else:
                wait_until(lambda: passed(recorder, stage.name, topics.input) >= count, query)
                start = listener.began
        seconds = time.time() - start
        used = cpu_seconds(topics.broker) - before
        p50, p99 = 0.0, 0.0
        if behind:
            query.awaitTermination(60)
            query = starter.start(stage)
        if not warm_up:
            latency(topics, LATENCY_WARM_UP_S)
            p50, p99 = latency(topics)
            if system != "real-time":
                print(json.dumps({"job": job, "system": system, "batch_ms": listener.spent_ms()}))
        query.stop()
    spark.streams.removeListener(listener)
    return Measure(job, system, count / seconds, used * 1e6 / count, p50, p99)


def passed(recorder: Recorder, stage: str, topic: str) -> int:
    return sum(recorder.of(stage).offsets.get(topic, {}).values())


def expected_rows(job: str, count: int) -> int:
    """What real-time mode writes: a row for each row taken, or each that passes the filter."""
    if job != "filter":
        return count
    return sum(str(number % 97).endswith("7") for number in range(count))


@contextmanager
def written(topics: Topics) -> Iterator[Callable[[], int]]:
    """A question that can be asked often: how many records the output has."""
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "bench"})
    places = [TopicPartition(topics.output, partition) for partition in range(PARTITIONS)]
    yield lambda: sum(consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)
    consumer.close()


def wait_until(condition: Callable[[], bool], query: Any, timeout_s: float = 600) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if query.exception() is not None:
            raise SystemExit(str(query.exception())[:2000])
        if time.monotonic() > deadline:
            raise SystemExit("the job did not end in time")
        time.sleep(0.02)


def run_streams(job: str, topics: Topics, count: int, libraries: Path) -> Measure:
    program = HERE / "streams" / "StreamsBench.java"
    command = ["java", "-Xmx1g", "-cp", f"{libraries}/*", str(program), topics.bootstrap, job]
    command += [topics.input, topics.table, topics.output, str(count)]
    with streams_process(command) as (seconds, used):
        pass
    with streams_process([*command, "statestore.cache.max.bytes=0"]):
        p50, p99 = latency(topics)
    return Measure(job, "streams", count / seconds, used * 1e6 / count, p50, p99)


@contextmanager
def streams_process(command: list[str]) -> Iterator[tuple[float, float]]:
    """Kafka Streams after it has taken the backlog: the seconds and CPU seconds that took."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        lines = (line.split() for line in process.stdout)
        _, seconds, used = next(words for words in lines if words[:1] == ["done"])
        threading.Thread(target=process.stdout.read, daemon=True).start()
        try:
            yield float(seconds), float(used)
        finally:
            process.stdin.close()


def streams_libraries(folder: Path | None) -> Path:
    """Kafka Streams' jars: given, or fetched once with Maven."""
    target = folder or Path(tempfile.gettempdir()) / f"kafka-streams-{STREAMS_VERSION}"
    if not target.exists():
        pom = Path(tempfile.mkdtemp()) / "pom.xml"
        pom.write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>"
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId>"
            f"<version>{STREAMS_VERSION}</version></dependency></dependencies></project>"
        )
        subprocess.run(
            ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies",
             f"-DoutputDirectory={target}"],
            check=True,
        )  # fmt: skip
    return target


@contextmanager
def broker(bootstrap: str | None) -> Iterator[Broker]:
    if bootstrap:
        yield Broker(bootstrap)
        return
    with Node() as node:
        yield Broker(node.bootstrap_servers, node.pid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--bootstrap")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--streams-libs", type=Path)
    parser.add_argument("--starts", type=int, default=0, help="only starts `ottla run` so often")
    asked = parser.parse_args()
    systems = asked.systems.split(",")
    libraries = streams_libraries(asked.streams_libs) if "streams" in systems else Path()
    measures = []
    with broker(asked.bootstrap) as brokers:
        if asked.starts:
            first_results(brokers, asked.starts)
            return
        for job in asked.jobs.split(","):
            for system in systems:
                measures.append(measure(brokers, job, system, asked.count, libraries))
                print(json.dumps(vars(measures[-1])), flush=True)
    sessions.stop()
    report(measures)


def measure(brokers: Broker, job: str, system: str, count: int, libraries: Path) -> Measure:
    """A short run first, so that every system is measured warm, then the real one."""

    def once(records: int, *, warm_up: bool = False) -> Measure:
        tag = uuid.uuid4().hex[:6]
        topics = Topics(brokers, f"in-{tag}", f"table-{tag}", f"out-{tag}")
        new = [NewTopic(name, PARTITIONS) for name in (topics.input, topics.table, topics.output)]
        create(Application("bench", bootstrap=topics.bootstrap).definition(), new)
        fill(topics.bootstrap, topics.input, topics.table, records)
        if system == "streams":
            return run_streams(job, topics, records, libraries)
        return run_ottla(job, topics, system, records, warm_up=warm_up)

    if system != "streams":
        once(max(1000, count // 5), warm_up=True)
    return once(count)


def first_results(brokers: Broker, times: int) -> None:
    """How long `ottla run` takes to the first result that can be read, and what it says until then.

    The first of the runs fills caches: jars, classes, the class-data archive.
    """
    for number in range(times):
        tag = uuid.uuid4().hex[:6]
        topics = Topics(brokers, f"in-{tag}", f"table-{tag}", f"out-{tag}")
        new = [NewTopic(name, PARTITIONS) for name in (topics.input, topics.output)]
        create(Application("bench", bootstrap=topics.bootstrap).definition(), new)
        fill(topics.bootstrap, topics.input, topics.input, count=0)
        with tempfile.TemporaryDirectory(prefix="ottla-bench-") as folder:
            program = Path(folder) / "start.py"
            program.write_text(FIRST_RESULT.format(tag=tag))
            print(json.dumps({"start": number, "after_s": _first_result(topics, program)}))


FIRST_RESULT = """\
import ottla
from ottla.pipelines import long, string

app = ottla.App("start-{tag}")
counted = app.stream("in-{tag}", value=string()).group_by_key().count("n")
counted.to("out-{tag}", value=long("n"))
"""


def _first_result(topics: Topics, program: Path) -> dict[str, float]:
    consumer = Consumer(
        {"bootstrap.servers": topics.bootstrap, "group.id": uuid.uuid4().hex,
         "isolation.level": "read_committed", "fetch.wait.max.ms": 5}
    )  # fmt: skip
    consumer.assign([TopicPartition(topics.output, p, 0) for p in range(PARTITIONS)])
    command = [sys.executable, "-m", "ottla", "run", str(program)]
    command += ["--bootstrap", topics.bootstrap]
    environment = os.environ | {"OTTLA_STATE": str(program.parent / "state")}
    began = time.monotonic()
    after: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        lines = running.stdout

        def listen() -> None:
            for line in lines:
                after.setdefault(line.strip()[:60], round(time.monotonic() - began, 2))

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        while (message := consumer.poll(60)) is not None and message.error():
            pass
        after["first result"] = round(time.monotonic() - began, 2)
        running.terminate()
        listening.join(60)
    consumer.close()
    return {said: at for said, at in after.items() if at <= after["first result"]}


def report(measures: list[Measure]) -> None:
    print(f"\n{'job':8} {'system':14} {'records/s':>12} {'p50 ms':>9} {'p99 ms':>9} {'CPU s/M':>9}")
    for one in measures:
        print(
            f"{one.job:8} {one.system:14} {one.records_per_s:12,.0f} {one.p50_ms:9.1f} "
            f"{one.p99_ms:9.1f} {one.cpu_s_per_million:9.1f}"
        )


if __name__ == "__main__":
    main()
