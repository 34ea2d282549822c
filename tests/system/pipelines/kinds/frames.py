"""pandas functions in the middle of an application."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from system.pipelines.kinds.script import (
    T0,
    Expected,
    Kind,
    Record,
    Stage,
    counted,
    program,
    row,
    value,
)

PROGRAM = program("""
import pandas as pd
from pyspark.sql.functions import col, pandas_udf


@pandas_udf("bigint")
def digits(texts: pd.Series) -> pd.Series:
    return texts.str.count(r"[0-9]")


def scored(frame):
    return frame.withColumn("digits", digits(col("text")))


def long_ones(pieces):
    for piece in pieces:
        yield piece[piece["text"].str.len() > 5]


def only_long(frame):
    return frame.mapInPandas(long_ones, frame.schema)


texts = app.stream("texts", value=json("author STRING, text STRING"))
marked = texts.transform(scored).transform(only_long)
marked.to("marked")
marked.group_by("author").agg(texts="count(*)", digits="sum(digits)").to("authors")
""")


def stages(chance: Random) -> list[Stage]:
    victims = ("worker", "driver", "broker", "jvm")
    made = [Stage([text(chance, n * 90 + m) for m in range(90)], v) for n, v in enumerate(victims)]
    return [*made, Stage([text(chance, 999)], settle=True)]


def text(chance: Random, which: int) -> Record:
    drawn = "".join(chance.choice("abc 012\u00e9") for _ in range(chance.randint(0, 12)))
    fields = value(author=f"a{chance.randrange(6)}", text=drawn)
    return Record("texts", f"k{which}", fields, T0 + which)


def expected(sent: Sequence[Record]) -> Expected:
    marked, authors = [], defaultdict(list)
    for record in sent:
        fields = record.fields
        if len(fields["text"]) > 5:
            digits = sum(letter in "0123456789" for letter in fields["text"])
            marked.append(row(record.key, fields | {"digits": digits}))
            authors[fields["author"]].append(digits)
    return {
        "marked": counted(marked),
        "authors": {
            author: row(author, {"author": author, "texts": len(each), "digits": sum(each)})
            for author, each in authors.items()
        },
    }


KIND = Kind("frames", PROGRAM, ("texts",), stages, expected)
