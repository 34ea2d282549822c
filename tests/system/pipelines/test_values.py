"""Values of every type, through every operator: what comes out is what Spark alone computes.

Hypothesis draws columns of Spark's types, nested ones too, and values as SQL. What is compared is
Spark's own rendering of the whole row and its type, so that a lost digit and a changed type show.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ottla.pipelines import App, json, sliding, tumbling
from ottla.pipelines.formats import values
from ottla.pipelines.runtime import sessions
from ottla.testing import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(600)]
T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z

Typed = tuple[str, list[str]]  # a type, and values of it as SQL


def text_literal(text: str) -> str:
    return values.quoted(text)


def digits(precision: int, scale: int) -> st.SearchStrategy[str]:
    top = 10**precision - 1
    return st.integers(-top, top).map(
        lambda n: f"CAST('{n}E-{scale}' AS DECIMAL({precision}, {scale}))"
    )


DECIMAL = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(lambda p: (p[0], min(p)))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
FRACTION = st.integers(0, 999_999).map(lambda n: f"{n:06d}")
DAY = st.dates().filter(lambda day: day.year > 1583).map(str)
CLOCK = st.times().map(lambda t: t.strftime("%H:%M:%S"))
FLOATING = (
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr)
    | st.sampled_from(["NaN", "Infinity", "-Infinity", "-0.0", "7.038531E-26", "1.4E-45"])
)  # fmt: skip


def whole(bits: int) -> st.SearchStrategy[str]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(str)


def cast(inner: st.SearchStrategy[str], type: str) -> st.SearchStrategy[str]:
    return inner.map(lambda value: f"CAST('{value}' AS {type})")


SIMPLE: dict[str, st.SearchStrategy[str]] = {
    "BOOLEAN": st.sampled_from(["true", "false"]),
    "TINYINT": cast(whole(8), "TINYINT"),
    "SMALLINT": cast(whole(16), "SMALLINT"),
    "INT": cast(whole(32), "INT"),
    "BIGINT": cast(whole(64), "BIGINT"),
    "FLOAT": cast(FLOATING, "FLOAT"),
    "DOUBLE": cast(FLOATING | st.floats(width=64).map(repr), "DOUBLE"),
    "STRING": TEXT.map(text_literal),
    "BINARY": st.binary(max_size=6).map(lambda data: f"X'{data.hex()}'"),
    "DATE": DAY.map(lambda day: f"DATE'{day}'"),
    "TIMESTAMP": st.tuples(DAY, CLOCK, FRACTION).map(
        lambda t: f"CAST('{t[0]} {t[1]}.{t[2]}' AS TIMESTAMP)"
    ),
    "TIMESTAMP_NTZ": st.tuples(DAY, CLOCK, FRACTION).map(
        lambda t: f"CAST('{t[0]} {t[1]}.{t[2]}' AS TIMESTAMP_NTZ)"
    ),
}
INTERVALS: dict[str, st.SearchStrategy[str]] = {
    "INTERVAL YEAR TO MONTH": st.integers(-999, 999).map(lambda n: f"make_ym_interval(0, {n})"),
    "INTERVAL DAY TO SECOND": st.integers(-(10**12), 10**12).map(
        lambda n: f"make_dt_interval(0, 0, 0, {n}E-6)"
    ),
}
VARIANT = st.integers(0, 9).map(lambda n: f"""parse_json('{{"a": [{n}, null, 1.50]}}')""")


@st.composite
def typed(draw: st.DrawFn, rows: int, depth: int = 2, keys: bool = False) -> Typed:
    """A type and as many values of it, some of them null (but no keys)."""
    kinds = ["simple", "decimal", "interval"]
    if not keys:
        kinds += ["variant", *(["array", "map", "struct"] * 2 if depth else [])]
    kind = draw(st.sampled_from(kinds))

    def some(inner: st.SearchStrategy[str]) -> list[str]:
        return draw(st.lists(inner, min_size=rows, max_size=rows))

    match kind:
        case "simple" | "interval":
            choice = SIMPLE if kind == "simple" else INTERVALS
            # Spark's to_json, which the comparison uses, writes no binary keys.
            type = draw(st.sampled_from(sorted(set(choice) - ({"BINARY"} if keys else set()))))
            found = some(choice[type])
        case "decimal":
            precision, scale = draw(DECIMAL)
            type, found = f"DECIMAL({precision}, {scale})", some(digits(precision, scale))
        case "variant":
            type, found = "VARIANT", some(VARIANT)
        case "array":
            inner, items = draw(typed(rows * 2, depth - 1))
            type = f"ARRAY<{inner}>"
            pairs = zip(items[::2], items[1::2], strict=True)
            found = [f"array({one}, {two})" for one, two in pairs]
        case "map":
            key, names = draw(typed(rows, 0, keys=True))
            inner, items = draw(typed(rows, depth - 1))
            type = f"MAP<{key}, {inner}>"
            found = [f"map({name}, {item})" for name, item in zip(names, items, strict=True)]
        case _:
            parts = [draw(typed(rows, depth - 1)) for _ in range(draw(st.integers(1, 2)))]
            type = f"STRUCT<{', '.join(f'f{n}: {part[0]}' for n, part in enumerate(parts))}>"
            fields = [
                ", ".join(f"'f{n}', {part[1][at]}" for n, part in enumerate(parts))
                for at in range(rows)
            ]
            found = [f"named_struct({one})" for one in fields]
    if not keys:
        gone = some(st.sampled_from(["no", "no", "no", "null"]))
        found = [
            f"CAST(NULL AS {type})" if lost == "null" else value
            for lost, value in zip(gone, found, strict=True)
        ]
    return type, found


def tables(rows: int, columns: int) -> st.SearchStrategy[list[Typed]]:
    return st.lists(typed(rows), min_size=1, max_size=columns)


def chosen(column: Typed) -> str:
    """The column's value for each `id`, as one expression."""
    cases = " ".join(f"WHEN {n} THEN {value}" for n, value in enumerate(column[1]))
    return f"CASE id {cases} END"


def rendered(names: list[str]) -> str:
    """Everything that Spark can tell about a row: types, text, and bytes where text hides them."""
    struct = f"struct({', '.join(names)})"
    return f"concat_ws(' | ', typeof({struct}), cast({struct} AS string), to_json({struct}))"


FEW = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=100, phases=tuple(Phase))


@given(tables(rows=3, columns=6))
@FEW
def test_rows_of_every_type_pass_through_bytes_and_text_unchanged(table: list[Typed]) -> None:
    check_rows(table)


@pytest.mark.long
@pytest.mark.timeout(1200)
@given(tables(rows=3, columns=4))
@MANY
def test_many_rows_pass_through_bytes_and_text_unchanged(table: list[Typed]) -> None:
    check_rows(table)


def check_rows(table: list[Typed]) -> None:
    spark = sessions.session()
    names = [f"c{n}" for n in range(len(table))]
    frame = spark.range(3).selectExpr(
        "id", *(f"{chosen(column)} AS {n}" for n, column in zip(names, table, strict=True))
    )
    type: Any = frame.selectExpr(*names).schema
    struct = values.struct_of(names)
    ways = {"text": values.struct_from_text(values.row_text(struct), type)}
    if values.is_common(type):
        ways["json"] = values.struct_from_json(values.json_of(type), type)
    else:  # at least it can be written, for whoever reads it
        assert all(row[0] for row in frame.selectExpr(values.json_of(type)).collect())
    for way, there_and_back in ways.items():
        parts = [f"({there_and_back}).{name} AS {name}" for name in names]
        passed = frame.selectExpr("id", *parts).selectExpr(f"{rendered(names)} AS r")
        expected = frame.selectExpr(f"{rendered(names)} AS r")
        assert passed.collect() == expected.collect(), way


@given(st.data())
@FEW
def test_folds_of_a_window_are_those_of_a_group(data: st.DataObject) -> None:
    check_folds(data)


@pytest.mark.long
@pytest.mark.timeout(1200)
@given(st.data())
@MANY
def test_many_folds_of_a_window_are_those_of_a_group(data: st.DataObject) -> None:
    check_folds(data)


def check_folds(data: st.DataObject) -> None:
    """Sums, means and extremes as Spark has them, over every type that it sums."""
    from ottla.pipelines.engine.stateful import folded

    spark = sessions.session()
    rows = 4
    precision, scale = data.draw(DECIMAL)
    numbers = {
        "d": data.draw(st.lists(digits(precision, scale), min_size=rows, max_size=rows)),
        **{
            name: data.draw(st.lists(SIMPLE[type], min_size=rows, max_size=rows))
            for name, type in (("i", "INT"), ("l", "BIGINT"), ("f", "FLOAT"), ("x", "DOUBLE"))
        },
    }
    anything = {"s": data.draw(typed(rows, 1)), "t": ("", data.draw(st.lists(
        SIMPLE["TIMESTAMP"], min_size=rows, max_size=rows)))}  # fmt: skip
    frame = spark.range(rows).coalesce(1).selectExpr(
        *(f"{chosen(('', found))} AS {name}" for name, found in numbers.items()),
        *(f"{chosen(column)} AS {name}" for name, column in anything.items()),
    )  # fmt: skip
    wanted = {f"{fold}_{name}": (fold, name) for name in numbers for fold in ("sum", "avg", "min")}
    wanted |= {"max_t": ("max", "t"), "count_s": ("count", "s"), "list_s": ("collect_list", "s")}
    taken = frame.selectExpr(*(f"{column} AS {name}" for name, (_, column) in wanted.items()))
    folds = [(name, f"{fold}({name})") for name, (fold, _) in wanted.items()]
    together = taken.selectExpr(f"collect_list({values.struct_of(wanted)}) AS _rows")
    binary = together.repartition(1)  # as it comes out of a shuffle, not as it was made
    windowed = folded(binary, taken.schema, folds).selectExpr("_result.*")
    expected = taken.selectExpr(*(f"{fold} AS {name}" for name, fold in folds))
    show = rendered(list(wanted))
    assert windowed.selectExpr(show).collect() == expected.selectExpr(show).collect()


PRICES = {"price": "12.34", "label": "", "at": "2026-03-29T01:59:59.123456Z"}


def test_decimals_positions_and_microseconds_survive_joins_and_windows() -> None:
    app = App("digits")
    made = {
        "third": "price / 3",
        "square": "price * price",
        "place": "array_position(array('a', 'b'), 'b')",
        "by_number": "map(1, price, 2, CAST(NULL AS DECIMAL(10, 2)))",
        "raw": "X'00FF'",
        "lost": "CAST('NaN' AS DOUBLE)",
    }
    schema = "price DECIMAL(10, 2), label STRING, at TIMESTAMP, rid STRING"
    table = app.table("items", value=json(schema)).with_columns(**made)
    rates = app.table("rates", value=json("rate DECIMAL(38, 18), since TIMESTAMP"))
    names = ["price", "label", "at", *made, "rate", "since"]
    shown = rendered(names)
    table.join(rates, on="rid").select(r=shown).to("by-foreign-key")
    stream = app.stream("sold", value=json(schema)).with_columns(**made)
    joined = stream.key_by("rid").join(rates)
    joined.select(r=shown).to("by-key")
    latest = joined.group_by("label").agg(
        **{name: f"last({name})" for name in names[:1] + names[2:]}
    )
    latest.named("latest").select(r=shown).to("twice")
    window = joined.group_by("label").windowed(sliding("1 second"))
    window.agg(
        total="sum(square)", mean="avg(third)", first="min(at)", all="collect_list(by_number)"
    ).select(r=rendered(["total", "mean", "first", "all"])).to("windows")
    joined.select("at", "by_number").to("written")
    rate = {
        "rate": "12345678901234567890.123456789012345678",
        "since": "2026-01-01T00:00:00.000001Z",
    }
    with drive(app) as d:
        d.send("rates", _raw(rate), key="r")
        d.send("items", _raw(PRICES | {"rid": "r"}), key="i")
        d.settle()
        d.send("sold", _raw(PRICES | {"rid": "r"}))
        d.send("sold", _raw(PRICES | {"rid": "r"}))
        spark = sessions.session()
        alone = spark.sql(
            "SELECT CAST('12.34' AS DECIMAL(10, 2)) AS price, '' AS label, "
            f"CAST('{PRICES['at']}' AS TIMESTAMP) AS at"
        ).selectExpr(
            "*", *(f"{sql} AS {name}" for name, sql in made.items()),
            f"CAST('{rate['rate']}' AS DECIMAL(38, 18)) AS rate",
            f"CAST('{rate['since']}' AS TIMESTAMP) AS since",
        )  # fmt: skip
        expected = alone.selectExpr(f"{shown} AS r").collect()[0].r
        assert "4.113333" in expected
        assert "152.2756" in expected
        assert ".123456" in expected
        assert [row["r"] for _, row in d.read("by-foreign-key")] == [expected]
        assert [row["r"] for _, row in d.read("by-key")] == [expected, expected]
        assert [row["r"] for row in d.table("twice").values()] == [expected]
        folded = alone.union(alone).selectExpr(
            "sum(square) AS total", "avg(third) AS mean", "min(at) AS first",
            "collect_list(by_number) AS all",
        )  # fmt: skip
        twice = folded.selectExpr(f"{rendered(folded.columns)} AS r").collect()[0].r
        assert [row["r"] for _, row in d.read("windows")][-1] == twice
        [(_, written), _] = d.read("written")
        assert written == {
            "at": "2026-03-29T01:59:59.123456Z",
            "by_number": {"1": 12.34, "2": None},
        }


def test_tables_join_though_a_map_of_theirs_has_numbers_for_keys() -> None:
    app = App("maps")
    made = {"by_number": "map(id, id / 2)", "pause": "make_dt_interval(0, 0, 0, id)"}
    rows = app.table("rows", value=json("id INT")).with_columns(**made)
    prices = app.table("prices", value=json("price INT")).with_columns(
        twice="map(price, price * 2)"
    )
    rows.left_join(prices).select("id", n="by_number[id]", m="twice[price]", s="string(pause)").to(
        "joined"
    )
    with drive(app) as d:
        d.send("rows", {"id": 1}, key="a")
        d.settle()
        d.send("prices", {"price": 3}, key="a")
        joined = {"id": 1, "n": 0.5, "m": 6, "s": "INTERVAL '0 00:00:01' DAY TO SECOND"}
        assert d.table("joined") == {"a": joined}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("drawn", [1, 2, 3, 4])
def test_every_operator_gives_what_spark_alone_computes(drawn: int) -> None:
    @seed(drawn)
    @given(tables(rows=2, columns=3))
    @settings(FEW, max_examples=2)  # of which the first is the simplest there is
    def check(table: list[Typed]) -> None:
        check_operators(table)

    check()


def check_operators(table: list[Typed]) -> None:
    app = App("drawn")
    names = [f"c{n}" for n in range(len(table))]
    made = {name: chosen(column) for name, column in zip(names, table, strict=True)}
    shown = rendered(names)
    rows = app.table("rows", value=json("id INT, fk STRING")).with_columns(**made)
    stream = app.stream("stream", value=json("id INT, fk STRING")).with_columns(**made)
    later = app.stream("later", value=json("n INT"))
    prices = app.table("prices", value=json("price INT"))
    folded = {name: f"last({name})" for name in names}
    sinks: dict[str, Any] = {
        "projected": stream,
        "keyed": stream.key_by("id"),
        "merged": stream.merge(stream),
        "table": rows,
        "foreign": rows.join(prices, on="fk"),
        "foreign-left": rows.left_join(prices, on="fk"),
        "by-key": rows.left_join(prices),
        "enriched": stream.key_by("fk").join(prices),
        "met": stream.join(later, within="1 minute"),
        "grouped": stream.group_by("id").agg(**folded),
        "twice": stream.key_by("fk").join(prices).group_by("id").agg(**folded),
        "kept": stream.group_by("id").agg(**folded).named("kept"),
        "windowed": stream.group_by("id").windowed(tumbling("1 hour")).agg(**folded),
        "slid": (
            stream.group_by("id").windowed(sliding("1 hour"))
            .agg(all=f"collect_list(struct({', '.join(names)}))")
            .select("id", **{name: f"all[0].{name}" for name in names})
        ),
    }  # fmt: skip
    if not any(odd in column[0] for column in table for odd in ("YEAR TO MONTH", "VARIANT")):
        sinks["peeked"] = stream.peek(print)  # Arrow has no such types
    for topic, flow in sinks.items():
        flow.select("id", r=shown).to(topic)
    spark = sessions.session()
    alone = spark.range(2).selectExpr(
        "cast(id AS int) AS id", *(f"{sql} AS {name}" for name, sql in made.items())
    )
    expected = {row.id: row.r for row in alone.selectExpr("id", f"{shown} AS r").collect()}
    with drive(app) as d:
        d.send("prices", {"price": 1}, key="f")
        d.settle()
        for number in range(2):
            for topic in ("rows", "stream"):
                d.send(topic, {"id": number, "fk": "f"}, key=str(number))
            d.send("later", {"n": 1}, key=str(number))
        for topic in sinks:
            # A table may say of a key that it has no row.
            found = [(row["id"], row["r"]) for _, row in d.read(topic) if row is not None]
            assert {one for one, _ in found} == {0, 1}, topic
            for number, text in found:
                assert text == expected[number], topic


def _raw(fields: dict[str, str]) -> bytes:
    """JSON whose digits are those given, not those of a Python float."""

    def one(text: str) -> str:
        return text if text[:1].isdigit() and ":" not in text else f'"{text}"'

    return (
        "{" + ", ".join(f'"{name}": {one(text)}' for name, text in fields.items()) + "}"
    ).encode()
