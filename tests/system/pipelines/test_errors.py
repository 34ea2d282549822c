"""What is wrong with a user's file is told in a sentence with its line, and their own frames."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from ottla.errors import OttlaError
from ottla.pipelines import App, DefinitionError, json
from ottla.pipelines.lifecycle import brokers
from ottla.pipelines.lifecycle.application_file import load_app
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning import topics
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.runtime import extra
from ottla.ports.network import free_ports

HEAD = "import ottla\nfrom ottla.pipelines import json\n"


def said_of(tmp_path: Path, code: str) -> str:
    file = tmp_path / "wrong_shop.py"
    file.write_text(HEAD + code)
    with pytest.raises(OttlaError) as caught:
        load_app(file)
    return str(caught.value).replace(str(tmp_path) + os.sep, "")


def test_an_exception_of_the_file_comes_with_its_own_frames_alone(tmp_path: Path) -> None:
    code = "def price():\n    return {}['price']\n\n\nprice()\n"
    assert said_of(tmp_path, code).splitlines() == [
        "wrong_shop.py:4: KeyError: 'price'",
        "  return {}['price']",
        "  from wrong_shop.py:7, in <module>: price()",
    ]


def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    assert said_of(tmp_path, "app = ottla.App(\n").startswith("wrong_shop.py:3: '(' was never")


def test_a_file_that_uses_pyspark_s_functions_has_spark_started_for_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(
        HEAD
        + "from pyspark.sql import functions as F\n"
        + "app = ottla.App('a')\n"
        + "@F.pandas_udf('bigint')\n"
        + "def double(n): return n * 2\n"
        + "s = app.stream('t', value=json('at INT'))\n"
        + "s.filter(F.col('at') > 3).to('late')\n"
    )
    done = subprocess.run(  # a process of its own: here Spark may run
        [sys.executable, "-m", "ottla", "pipeline", "explain", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "late" in done.stdout


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_function_that_spark_does_not_know_is_one_sentence(driven: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(
        HEAD
        + "app = ottla.App('unknown')\n"
        + "orders = app.stream('orders-of-nobody', value=json('n INT'))\n"
        + "orders.select(m='mediann(n)').to('medians-of-nobody')\n"
    )
    create(App("a", bootstrap=driven).definition(), [topics.NewTopic("orders-of-nobody", 1)])
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OTTLA_STATE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "run", "--no-ui", "-b", driven, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=os.environ | environment,
    )
    assert done.returncode == 1
    [said] = done.stderr.splitlines()
    assert said.startswith(f"ottla: {file}:5: Spark refuses this: ")
    assert "mediann" in said


def test_distinct_values_are_refused_with_a_way_out() -> None:
    orders = App("a").stream("orders", value=json("customer STRING, product STRING"))
    with pytest.raises(DefinitionError, match=r"test_errors.py:\d+: .*approx_count_distinct"):
        orders.group_by("customer").agg(n="count(distinct product)")


def test_what_is_no_expression_is_told() -> None:
    orders = App("a").stream("orders", value=json("n INT"))
    with pytest.raises(DefinitionError, match="3 is no expression"):
        orders.filter(3)  # type: ignore[arg-type]


def test_stars_stand_for_columns_and_for_the_fields_of_a_struct() -> None:
    orders = App("a").stream("orders", value=json("id INT, s STRUCT<a: INT, b: STRING>"))
    assert orders.select("*", twice="id * 2").columns == ("id", "s", "twice")
    assert orders.select("id", "s.*").columns == ("id", "a", "b")
    with pytest.raises(DefinitionError, match="takes the fields of a struct; it is INT"):
        orders.select("id.*")


def test_an_alias_leaves_the_expression_as_it_was_written() -> None:
    orders = App("a").stream("orders", value=json("n INT, s STRING"))
    for text in ("date_format(now(), 'E')", "n + 1", "`n`", "s || ' AS x'"):
        for alias in (" AS made", " as `made`", " made"):
            node = orders.select(text + alias).node
            assert node.columns == (("made", text),)  # type: ignore[attr-defined]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "sqlglot" else object())
    with pytest.raises(OttlaError, match=r"need sqlglot: .*pip install 'ottla\[pipelines\]'"):
        App("a")


def test_a_wrong_address_is_told_before_a_client_gives_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(brokers, "TIMEOUT_S", 0.5)
    for place, reason in (
        (f"localhost:{free_ports(1)[0]}", "Connection refused"),
        ("no.such.host.invalid:9092", "not known"),
    ):
        said: list[str] = []
        with pytest.raises(OttlaError, match=reason):
            brokers.describe(App("a", bootstrap=place).definition(), said.append)
        [sentence] = said
        assert sentence.startswith(f"No broker answers at {place} (")
        assert "trying for 0.5 s" in sentence


def test_a_topic_that_was_there_and_would_delete_results_is_told_with_its_numbers(
    bootstrap: str,
) -> None:
    names = [f"{kind}-{uuid.uuid4().hex[:8]}" for kind in ("in", "week", "kept", "said", "new")]
    read, week, kept, said, new = names
    app = App("a", bootstrap=bootstrap)
    orders = app.stream(read, value=json("n INT"))
    for topic in (week, kept, new):
        orders.to(topic)
    orders.to(said, retention="7 days")
    plan = make_plan(app.definition())
    days = {"retention.ms": "604800000"}
    made = [topics.NewTopic(week, 1, days), topics.NewTopic(said, 1, days)]
    made += [topics.NewTopic(read, 1), topics.NewTopic(kept, 1, topics.FOREVER)]
    brokers.create(plan.application, made)
    [told] = brokers.forgetful(
        plan, brokers.describe(plan.application), topics.topic_names(plan, 1)
    )
    assert told.startswith(f"{week} was there already and deletes records whose time is more than ")
    assert "1 week ago (retention.ms=604800000)" in told
