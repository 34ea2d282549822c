"""Text of PostgreSQL as values of Connect; Debezium's own answers are in the golden records."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.debezium import days as days_module
from ottla.connect.connectors.postgres_cdc import literals, temporal
from ottla.connect.connectors.postgres_cdc.defaults import default
from ottla.connect.connectors.postgres_cdc.tables import Column, PgType
from ottla.connect.connectors.postgres_cdc.types import Modes, java_integer, mapping

LABELS = PgType("mood", labels=("sad", "ok"))


def value(type_: str, text: str, modifier: int = -1, **modes: Any) -> Any:
    mapped = mapping(Column("c", PgType(type_), modifier), Modes(**modes))
    assert mapped is not None
    return mapped.convert(text)


def default_of(type_: str, expression: str, modifier: int = -1) -> Any:
    column = Column("c", PgType(type_), modifier, default=expression)
    mapped = mapping(column, Modes())
    assert mapped is not None
    return default(column, mapped)


@given(st.dates())
def test_days_are_counted_as_python_counts_them(day: dt.date) -> None:
    days = (day - dt.date(1970, 1, 1)).days
    assert temporal.date_days(day.isoformat()) == days
    assert days_module.civil(days) == (day.year, day.month, day.day)


@given(st.datetimes())
def test_timestamps_are_counted_as_python_counts_them(moment: dt.datetime) -> None:
    since = moment - dt.datetime(1970, 1, 1)
    assert temporal.timestamp_us(moment.isoformat(" ")) == since // dt.timedelta(microseconds=1)


def test_times_follow_the_mode() -> None:
    assert value("timestamp", "2020-02-29 12:34:56.789", 3) == 1_582_979_696_789
    assert value("timestamp", "2020-02-29 12:34:56.789") == 1_582_979_696_789_000
    when = value("timestamp", "2020-02-29 12:34:56.789", time_precision="connect")
    assert when == dt.datetime(2020, 2, 29, 12, 34, 56, 789_000, dt.UTC)
    assert value("date", "2020-02-29", time_precision="isostring") == "2020-02-29Z"
    assert value("time", "12:34:56.789", time_precision="nanoseconds") == 45_296_789_000_000
    assert value("timestamptz", "0044-03-15 01:02:03+00 BC") == "-0043-03-15T01:02:03.000000Z"
    with pytest.raises(ConnectError, match=r"time\.precision\.mode=connect"):
        value("date", "infinity", time_precision="connect")


def test_intervals_are_microseconds_or_text() -> None:
    text = "1 year 2 mons -3 days +04:05:06.789"
    assert value("interval", text) == 36_572_706_789_000
    assert value("interval", text, interval="string") == "P1Y2M-3DT4H5M6.789S"
    assert value("interval", "-00:00:00.5", interval="string") == "P0Y0M0DT0H0M-0.5S"


def test_numerics_follow_the_mode() -> None:
    assert value("numeric", "1.5", ((8 << 16) | 2) + 4) == Decimal("1.50")
    assert value("numeric", "12.3400").values == {"scale": 2, "value": b"\x04\xd2"}
    assert value("numeric", "NaN", decimal="string") == "NAN"
    assert value("money", "-$1,234.50") == Decimal("-1234.50")
    with pytest.raises(ConnectError, match=r"decimal\.handling\.mode"):
        value("numeric", "NaN")


@given(st.integers())
def test_big_integers_are_as_short_as_javas(number: int) -> None:
    data = java_integer(number)
    assert int.from_bytes(data, "big", signed=True) == number
    assert len(data) == 1 or int.from_bytes(data[1:], "big", signed=True) != number


def quoted(element: str | None) -> str:
    if element is None:
        return "NULL"
    escaped = element.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@given(st.lists(st.none() | st.text()))
def test_arrays_are_read_whatever_they_hold(elements: list[str | None]) -> None:
    assert literals.array("{" + ",".join(map(quoted, elements)) + "}") == elements


@given(st.dictionaries(st.text(), st.none() | st.text()))
def test_hstore_is_read_whatever_it_holds(pairs: dict[str, str | None]) -> None:
    text = ", ".join(f"{quoted(key)}=>{quoted(value)}" for key, value in pairs.items())
    assert literals.hstore(text) == pairs


def test_bits_are_little_endian_without_zero_bytes() -> None:
    assert literals.bits("10101") == b"\x15"
    assert literals.bits("00000") == b""
    assert literals.bits("1" + "0" * 8) == b"\x00\x01"


def test_types_without_a_schema_leave_their_column_out() -> None:
    for name in ("tsquery", "line", "xid"):
        assert mapping(Column("c", PgType(name)), Modes()) is None
    shown = mapping(Column("c", PgType("tsquery")), Modes(unknown_types=True))
    assert shown is not None
    assert shown.convert("a & b") == b"a & b"


def test_defaults_are_read_where_debezium_reads_them() -> None:
    assert default_of("int4", "7") == 7
    assert default_of("int4", "nextval('s'::regclass)") == 0
    assert default_of("int4", "(1 + 1)") is None
    assert default_of("text", "'it''s'::text") == "it's"
    assert default_of("bool", "true") is True
    assert default_of("timestamptz", "now()") == "1970-01-01T00:00:00.000000Z"
    assert default_of("varchar", "NULL::character varying") is None
    column = Column("c", LABELS, default="'ok'::mood")
    mapped = mapping(column, Modes())
    assert mapped is not None
    assert default(column, mapped) == "ok"


@given(
    st.datetimes(timezones=st.just(dt.UTC)),
    st.integers(-15 * 60, 15 * 60),
    st.integers(0, 6),
)
def test_a_moment_is_the_same_in_every_zone_that_the_server_may_write_it_in(
    moment: dt.datetime, minutes: int, digits: int
) -> None:
    said = moment.isoformat(" ").replace("+00:00", "")
    day, clock = said.split(" ")
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    us = temporal.date_days(day) * days_module.DAY_US + temporal.time_us(clock)
    assert us == (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    assert temporal.timestamp_us(said) == temporal.timestamp_us(f"{said}+00") == us
    there = us - minutes * 60_000_000
    assert temporal.timestamp_us(f"{said}{sign}{hours:02d}:{rest:02d}") == there
    assert temporal.zoned_timestamp(f"{said}+00", digits) == days_module.iso_timestamp(us, digits)


@given(st.dates())
def test_days_are_counted_as_the_calendar_counts_them(day: dt.date) -> None:
    counted = days_module.days_since_epoch(day.year, day.month, day.day)
    assert temporal.date_days(day.isoformat()) == counted
    assert temporal.date_days(f"{day.isoformat()} BC") == days_module.days_since_epoch(
        1 - day.year, day.month, day.day
    )
