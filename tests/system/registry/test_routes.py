"""Every route and every error code by one table (`routes.jsonl`): what is asked, in this order, of
a registry that is empty, and the whole answer. What is a star there is another one each time."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import ottla
from ottla.registry import errors
from ottla.registry.rest.application import Routes
from ottla.registry.rest.schemas import Schemas
from ottla.registry.rest.settings import SettingsRoutes
from ottla.registry.rest.subjects import Subjects
from ottla.serving.errors import RestError
from ottla.serving.routing import Route
from system.registry.processes import Registry
from system.registry.test_group import enum, registered

TABLE = [
    json.loads(line) for line in Path(__file__).with_name("routes.jsonl").read_text().splitlines()
]
ELSEWHERE = {42209, 50002, 50003, 50004}  # below: of registries that lack something
ALWAYS = {  # routes that refuse nothing of their own
    *("GET /", "POST /", "GET /v1/metadata/id", "GET /v1/metadata/version", "GET /schemas/types"),
    *("GET /contexts", "GET /config", "DELETE /config", "GET /mode", "DELETE /mode"),
    "GET /schemas/guids/{guid}/ids",
}


def masked(value: Any) -> Any:
    match value:
        case dict():
            passing = ("ts", "kafka-cluster", "schema-registry-cluster")
            return {key: "*" if key in passing else masked(one) for key, one in value.items()}
        case list():
            return [masked(one) for one in value]
    return value


def test_each_request_has_its_answer(registry: Registry) -> None:
    for row in TABLE:
        method, path = row["ask"].split()
        answer = registry.ask(method, path, row["body"])
        body = masked(answer.body)
        if path == "/v1/metadata/version":
            body["version"] = "*"
        assert (answer.status, body) == (row["status"], row["answer"]), row["ask"]


def routes() -> Iterator[Route]:
    for kind in (Subjects, Schemas, SettingsRoutes):
        part: Any = kind.__new__(kind)
        yield from part.reads()
        yield from part.writes()
    yield from Routes._about(Routes.__new__(Routes))


def fits(route: Route, asked: str) -> bool:
    method, path = asked.split()
    path = re.sub(r"^/contexts/\.c/(?=.)", "/", path.partition("?")[0])
    pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
    return method == route.method and re.fullmatch(pattern, path) is not None


def test_every_route_is_in_the_table_with_a_good_and_a_bad_answer() -> None:
    for route in routes():
        statuses = [row["status"] for row in TABLE if fits(route, row["ask"])]
        name = f"{route.method} {route.path}"
        assert any(status < 300 for status in statuses), name
        assert name in ALWAYS or any(status >= 400 for status in statuses), name


def test_every_error_is_in_the_table() -> None:
    told = {row["answer"]["error_code"] for row in TABLE if row["status"] >= 400}
    made = set()
    for name, function in vars(errors).items():
        if callable(function) and name != "RestError" and not name.startswith("_"):
            count = function.__code__.co_argcount - len(function.__defaults__ or ())
            error = function(*[""] * count)
            assert isinstance(error, RestError)
            made.add(error.code)
    assert made - ELSEWHERE <= told


# --- what is refused because something is away


def test_a_schema_that_the_topic_has_no_room_for_is_refused(bootstrap: str) -> None:
    registry = Registry(bootstrap, name="small")
    config = {"cleanup.policy": "compact", "max.message.bytes": "2000"}
    topic = NewTopic(registry.topic, 1, 1, config=config)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])[registry.topic].result(10)
    with registry:
        large = {"type": "enum", "name": "E", "symbols": [f"S{at:06}" for at in range(500)]}
        refused = registry.register("large", large)
        assert (refused.status, refused.body) == (
            422,
            {
                "error_code": 42209,
                "message": "Register operation failed because schema is too large",
            },
        )


def test_where_nobody_may_lead_nothing_is_written(bootstrap: str) -> None:
    options = {"leader.eligibility": "false", "kafkastore.timeout.ms": "500"}
    with Registry(bootstrap, name="led", options=options) as registry:
        refused = registry.register("s", enum("A"))
        leaderless = {"error_code": 50004, "message": "Leader not known."}
        assert (refused.status, refused.body) == (500, leaderless)


def test_a_leader_that_does_not_answer_is_told_of(bootstrap: str) -> None:
    options = {"leader.read.timeout.ms": "500", "kafkagroup.session.timeout.ms": "60000"}
    with Registry(bootstrap, name="asleep", options=options) as one, one.another() as two:
        registered(two, "A")
        assert one.process is not None
        one.process.send_signal(signal.SIGSTOP)
        try:
            refused = two.register("t", enum("B"))
            assert (refused.status, refused.code) == (500, 50003)
            begin = f"Unexpected error while forwarding the request to {one.url}"
            assert refused.body["message"].startswith(begin)
        finally:
            one.process.send_signal(signal.SIGCONT)


@pytest.mark.timeout(60)
def test_without_a_broker_reads_go_on_and_writes_fail_in_time() -> None:
    options = {"kafkastore.timeout.ms": "2000"}
    with (
        ottla.Node() as node,
        Registry(node.bootstrap_servers, name="cut-off", options=options) as registry,
    ):
        id = registered(registry, "A")
        node.kill()
        refused = registry.register("t", enum("B"))
        assert (refused.status, refused.code) in ((500, 50002), (500, 50004))
        assert registry.get(f"/schemas/ids/{id}").status == 200
