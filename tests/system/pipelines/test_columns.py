"""A pyspark Column wherever an expression stands: as text it means what it meant to Spark."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.functions import col

from ottla.pipelines import App, DefinitionError, json
from ottla.pipelines.api.columns import sql_of
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import SparkSettings

NOTHING: Any = None  # Spark compares with it, though its types do not say so

COLUMNS: list[Callable[[], Column]] = [
    lambda: col("n") > 3,
    lambda: (col("n") == 1) & ~(col("text") != "it's"),
    lambda: -col("n") + 1,
    lambda: col("n") / 3,
    lambda: col("n") % 2 == 0,
    lambda: col("n").isin(1, 2),
    lambda: col("n").between(1, 2) | col("n").isNull(),
    lambda: col("s.f") + col("s")["f"] + col("s").getField("f"),
    lambda: col("m")["k"] + col("xs")[0],
    lambda: F.when(col("n") > 1, "more").when(col("n") == 1, "one").otherwise("less"),
    lambda: F.when(col("n") > 1, col("text")),
    lambda: col("n").cast("decimal(10,2)") / 3,
    lambda: col("text").like("i%") & col("text").startswith("i"),
    lambda: F.concat_ws("-", col("text"), col("n")),
    lambda: F.round(col("n") * 0.21, 3),
    lambda: F.transform(col("xs"), lambda x: x * 2 + 1),
    lambda: col("`a b`") + F.lit(0.1) + F.lit(0.2),
    lambda: col("n").eqNullSafe(NOTHING),
    lambda: F.struct(col("n"), col("text").alias("q")),
    lambda: F.expr("n + 1") * 2,
    lambda: F.lit(None).cast("int"),
    lambda: F.lit(float("nan")),
]
FOLDS: list[Callable[[], Column]] = [
    lambda: F.sum("n"),
    lambda: F.count("*"),
    lambda: F.count_distinct("n"),
    lambda: F.max(col("n") * 2),
]


def frame() -> Any:
    rows = [
        (1, "it's", {"f": 2}, {"k": 3}, [4, 5], 6),
        (2, "is", {"f": 1}, {"k": 1}, [1], 1),
        (2, "no", {"f": 1}, {"k": 1}, [1], 1),
        (None, None, None, {}, [0], None),
    ]
    schema = "n INT, text STRING, s STRUCT<f: INT>, m MAP<STRING, INT>, xs ARRAY<INT>, `a b` INT"
    session = sessions.session(SparkSettings(name="ottla tests", parallelism=1))
    return session.createDataFrame(rows, schema)


def test_a_column_s_text_gives_the_same_values_and_types() -> None:
    data = frame()
    for make in [*COLUMNS, *FOLDS]:
        column = make()
        meant, read = data.select(column.alias("c")), data.selectExpr(f"{sql_of(column)} AS c")
        assert read.schema["c"].dataType == meant.schema["c"].dataType, sql_of(column)
        assert str(read.collect()) == str(meant.collect()), sql_of(column)


def test_what_sql_has_no_words_for_is_told() -> None:
    frame()
    stream = App("a").stream("t", value=json("n INT"))
    double = F.udf(lambda n: n * 2, "int")
    with pytest.raises(DefinitionError, match=r"use it in transform\(\)"):
        stream.filter(double("n") > 2)
