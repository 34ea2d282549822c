"""Decoding in Spark: what a registry describes against JSON of the same rows, and fastavro.

    python bench/decoding.py [--rows 2000000]

A node and a registry of its own; rows lie in memory, so that only decoding is measured. Each figure
is the best of three runs, in rows a second; the ratios are what goals speak of.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import ottla
from ottla.pipelines.formats import avro, json_schema, protobuf
from ottla.pipelines.formats import json as json_format
from ottla.pipelines.formats.avro_format import Avro
from ottla.pipelines.formats.format import Format

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

COLUMNS = "id BIGINT, customer STRING, amount DOUBLE, country STRING, at BIGINT"
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "country", "type": "string"},
    {"name": "at", "type": "long"},
]
OLDER: dict[str, Any] = {"type": "record", "name": "Order", "fields": FIELDS[:4]}
ORDER: dict[str, Any] = {
    **OLDER,
    "fields": [*FIELDS[:4], {**FIELDS[4], "default": 0}],
}
RUNS = 3
JSON, AVRO, FASTAVRO = "JSON", "Avro", "Avro by fastavro in mapInArrow"
EVOLVED = "Avro, one in ten of an older schema"
VALIDATED = "JSON Schema, validated"
GOALS = (
    (AVRO, JSON, "1.2"),
    (AVRO, FASTAVRO, "3"),
    (EVOLVED, AVRO, "0.8"),
    ("Protobuf", JSON, ""),
    ("JSON Schema", JSON, ""),
    (VALIDATED, JSON, ""),
)


def rows(spark: Any, count: int) -> "DataFrame":
    frame: DataFrame = spark.range(count).selectExpr(
        "id",
        "concat('customer-', id % 10000) AS customer",
        "cast(id % 1000 AS double) / 7 AS amount",
        "if(id % 3 = 0, 'Austria', 'Belgium') AS country",
        "1700000000000 + id AS at",
    )
    return frame


def held(frame: "DataFrame", value: str) -> "DataFrame":
    empty = "cast(NULL AS array<struct<key: string, value: binary>>) AS headers"
    made = frame.selectExpr(f"{value} AS value", empty).persist()
    made.count()
    return made


def decoded(format: Format, values: "DataFrame") -> "DataFrame":
    format.prepare(values.sparkSession)
    parsed = values.selectExpr("*", f"{format.parsed(())} AS _parsed")
    names = [field.name for field in format.schema]
    cases = " ".join(format.reasons("value", is_table=False))
    return parsed.selectExpr(
        *(f"{format.read(name, 'value')} AS {name}" for name in names), f"CASE {cases} END AS why"
    )


def by_fastavro(values: "DataFrame") -> "DataFrame":
    def read(batches: "Iterator[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
        from io import BytesIO

        import fastavro
        import pyarrow as pa

        schema = fastavro.parse_schema(ORDER)
        for batch in batches:
            made = [
                fastavro.schemaless_reader(BytesIO(value.as_py()[5:]), schema, None)
                for value in batch.column(0)
            ]
            yield pa.RecordBatch.from_pylist(made)

    return values.select("value").mapInArrow(read, COLUMNS)


def rate(frame: "DataFrame", count: int) -> float:
    best = 0.0
    for _ in range(RUNS):
        began = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        best = max(best, count / (time.perf_counter() - began))
    return best


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=2_000_000)
    count = arguments.parse_args().rows
    with ottla.Registry() as registry:
        spark = ottla.spark_session("bench", ui=False, memory="4g")
        frame = rows(spark, count)
        names = frame.columns

        def writing(schema: dict[str, Any], columns: list[str]) -> str:
            fixed = Avro(fixed=(json.dumps(schema),))
            format = fixed.of_topic("orders", registry.url, reads=False)
            format.prepare(spark)
            return format.written(columns, frame.schema)

        def bound(format: Format, topic: str, *, reads: bool) -> Format:
            made = format.of_topic(topic, registry.url, reads=reads)
            made.prepare(spark)
            return made

        def through(make: Callable[[], Format], topic: str) -> "DataFrame":
            """Rows as the format writes them, read by it."""
            bytes = bound(make(), topic, reads=False).written(names, frame.schema)
            return decoded(bound(make(), topic, reads=True), held(frame, bytes))

        earlier, written = writing(OLDER, names[:4]), writing(ORDER, names)
        reading = avro().of_topic("orders", registry.url, reads=True)
        plain = json_format(COLUMNS)
        mixed = f"if(id % 10 = 0, {earlier}, {written})"
        measured: dict[str, Callable[[], DataFrame]] = {
            JSON: lambda: decoded(plain, held(frame, plain.written(names, frame.schema))),
            AVRO: lambda: decoded(reading, held(frame, written)),
            EVOLVED: lambda: decoded(reading, held(frame, mixed)),
            "Protobuf": lambda: through(protobuf, "messages"),
            "JSON Schema": lambda: through(json_schema, "objects"),
            VALIDATED: lambda: through(partial(json_schema, validate=True), "objects"),
            FASTAVRO: lambda: by_fastavro(held(frame, written)),
        }
        rates: dict[str, float] = {}
        for name, make in measured.items():
            rates[name] = rate(make(), count)
            print(f"{name:36} {rates[name]:>12,.0f} rows/s", flush=True)
            spark.catalog.clearCache()
        spark.stop()
    for name, other, goal in GOALS:
        ratio = rates[name] / rates[other]
        print(f"{name} / {other}: {ratio:.2f}" + (f" (goal {goal})" if goal else ""), flush=True)


if __name__ == "__main__":
    main()
