"""Days of a time zone across changes of the clock, against what Python's zoneinfo says."""

import json as plain_json
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from ottla.pipelines import App, DefinitionError, hopping, json, tumbling
from ottla.pipelines.api.windows import milliseconds
from ottla.pipelines.planning.manifest import compare, describe
from ottla.pipelines.planning.plan import make_plan
from ottla.testing import drive

pytestmark = [pytest.mark.usefixtures("driven"), pytest.mark.timeout(500)]
EPOCH = date(1970, 1, 1)
# Clocks that change at 02:00, at midnight, by half an hour, in the south, and never.
ZONES = {
    "Europe/Prague": date(2026, 3, 29),
    "Africa/Cairo": date(2024, 4, 26),
    "Australia/Lord_Howe": date(2026, 4, 5),
    "America/New_York": date(2026, 11, 1),
    "Asia/Kolkata": date(2026, 1, 1),
}


def instant(zone: str, day: date, offset: timedelta) -> datetime:
    """The moment at which a day of the zone begins, `offset` after its midnight."""
    local = datetime.combine(day, time()) + offset
    return local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def windows(
    zone: str, at: datetime, days: int, every: int, offset: timedelta
) -> list[tuple[datetime, datetime]]:
    """Every window of so many days around the moment that it falls into."""
    near = at.astimezone(ZoneInfo(zone)).date()
    found = []
    for back in range(-2, days + 2):
        day = near - timedelta(days=back)
        if (day - EPOCH).days % every:
            continue
        start = instant(zone, day, offset)
        end = instant(zone, day + timedelta(days=days), offset)
        if start <= at < end:
            found.append((start, end))
    return found


def moments(zone: str, seed: int) -> list[datetime]:
    """Around the days when the clock is changed, thickest at midnight and in the small hours."""
    chance = Random(seed)
    middle = instant(zone, ZONES[zone], timedelta())
    some = [middle + timedelta(minutes=chance.randrange(-4000, 4000)) for _ in range(30)]
    return some + [middle + timedelta(minutes=30 * half) for half in range(-4, 60)]


@pytest.mark.parametrize(
    ("days", "every", "offset"),
    [(1, 1, "0 seconds"), (1, 1, "2 hours 30 minutes"), (3, 1, "0 seconds"), (2, 2, "1 hour")],
)
def test_a_day_of_a_zone_is_one_window_however_long_it_is(
    days: int, every: int, offset: str
) -> None:
    from pyspark.sql import functions as F

    from ottla.pipelines.engine.zoned import windows as sql_of
    from ottla.pipelines.runtime.sessions import session

    spark = session()
    for seed, zone in enumerate(ZONES):
        given = {"offset": offset, "time_zone": zone}
        size, step = f"{days} days", f"{every} days"
        window = tumbling(size, **given) if days == every else hopping(size, every=step, **given)
        asked = moments(zone, seed)
        rows = [(at.timestamp(),) for at in asked]
        frame = spark.createDataFrame(rows, "s double").select(F.timestamp_seconds("s").alias("at"))
        ends = "array(unix_millis(w.start), unix_millis(w.end))"
        pairs = f"transform({sql_of(window, 'at')}, w -> {ends})"
        told = [sorted(row[0]) for row in frame.selectExpr(pairs).collect()]
        skip = timedelta(milliseconds=milliseconds(offset))
        model = [
            sorted([round(s.timestamp() * 1000), round(e.timestamp() * 1000)] for s, e in
                   windows(zone, at, days, every, skip))
            for at in asked
        ]  # fmt: skip
        assert told == model, zone


def test_days_of_23_and_25_hours_are_counted_and_closed() -> None:
    zone = "Europe/Prague"
    app = App("days")
    clicks = app.stream("clicks", value=json("page STRING"))
    daily = clicks.group_by("page").windowed(tumbling("1 day", time_zone=zone)).count()
    daily.to("daily")
    daily.suppress().to("closed")
    starts = [datetime(2026, 3, 27, 23, tzinfo=UTC), datetime(2026, 10, 24, 22, tzinfo=UTC)]
    sent = [start + timedelta(minutes=20 * step) for start in starts for step in range(150)]
    model: Counter[tuple[int, int]] = Counter()
    for at in sent:
        [(start, end)] = windows(zone, at, 1, 1, timedelta())
        model[(round(start.timestamp()), round(end.timestamp()))] += 1
    assert {(end - start) // 3600 for start, end in model} == {23, 24, 25}
    with drive(app) as d:
        for at in sent:
            d.send("clicks", {"page": "/"}, timestamp_ms=round(at.timestamp() * 1000))

        def found(rows: object) -> dict[tuple[int, int], int]:
            return {
                (
                    round(datetime.fromisoformat(row["window_start"]).timestamp()),
                    round(datetime.fromisoformat(row["window_end"]).timestamp()),
                ): row["count"]
                for row in rows  # type: ignore[attr-defined]
            }

        assert found(d.table("daily").values()) == model
        newest = max(model)
        last = round(sent[-1].timestamp())
        closed = {window: n for window, n in model.items() if window[1] <= last}
        assert newest not in closed
        assert found(row for _, row in d.read("closed")) == closed
        keys = {plain_json.loads(key)["window_start"] for key in d.table("daily")}
        assert len(keys) == len(model)


def test_another_zone_is_another_window_and_no_zone_is_what_it_was() -> None:
    def manifest(**given: str) -> object:
        app = App("days")
        clicks = app.stream("clicks", value=json("page STRING"))
        clicks.group_by("page").windowed(tumbling("1 day", **given)).count().to("daily")
        return describe(make_plan(app.definition()))

    plain, prague, rome = (
        manifest(), manifest(time_zone="Europe/Prague"), manifest(time_zone="Europe/Rome"),
    )  # fmt: skip
    assert "time_zone" not in plain.to_json()  # type: ignore[attr-defined]
    for old, new in ((prague, rome), (plain, prague)):
        verdicts = {v.stage: v.kind for v in compare(old, new)}  # type: ignore[arg-type]
        assert verdicts["daily"] == "rebuild"


def test_windows_of_a_zone_are_whole_days_of_one_that_there_is() -> None:
    with pytest.raises(DefinitionError, match="are whole days"):
        tumbling("1 hour", time_zone="Europe/Prague")
    with pytest.raises(DefinitionError, match="'Europe/Nowhere' is no time zone"):
        hopping("2 days", every="1 day", time_zone="Europe/Nowhere")


def test_a_frame_of_one_s_own_says_all_of_a_record(driven: str) -> None:
    from pyspark.sql import functions as F

    app = App("frames", bootstrap=driven)
    frame = app.stream("paid", value=json("town STRING, n INT, at TIMESTAMP")).df
    said = frame.select("town", "n", F.col("at").alias("when"))
    app.sink(
        said, "told", key="struct(town, n)", headers={"n": "n * 2"},
        partition="n % 3", timestamp="when", partitions=3,
    )  # fmt: skip
    with pytest.raises(DefinitionError, match="Spark refuses this: A column, variable"):
        app.sink(said, "wrong", key="tonw")
    [stage] = [one for one in make_plan(app.definition()).stages if one.name == "told"]
    assert (stage.sink.partition, stage.sink.timestamp) == ("n % 3", "when")
    with drive(app) as d:
        at = "2026-01-02T03:04:05Z"
        for n in range(4):
            d.send("paid", {"town": "Izmir", "n": n, "at": at}, key="k")
        found = {plain_json.loads(one.key)["n"]: one for one in d.records("told")}
        assert sorted(found) == [0, 1, 2, 3]
        for n, one in found.items():
            assert plain_json.loads(one.key) == {"town": "Izmir", "n": n}
            assert one.headers["n"] == str(2 * n).encode()
            assert one.partition == n % 3
            assert one.timestamp_ms == 1_767_323_045_000
