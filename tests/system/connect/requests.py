"""One table of requests to a Connect worker: each route, in each state, good, unknown, malformed.

The same table is sent to Kafka Connect and to Ottla. Steps are in their order: later ones meet what
earlier ones have made. What a step waits for first is a state, never a time.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
NOWHERE = "/no-such-folder/file"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Step:
    method: str
    path: str
    body: Any = None  # JSON, or bytes as they are
    headers: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)  # states to be waited for: `NAME[/TASK]`

    @property
    def sent(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()

    def __str__(self) -> str:
        shown = "" if self.sent is None else f" {self.sent.decode('latin-1')}"
        kind = self.headers.get("Content-Type", "")
        return f"{self.method} {self.path}{shown}{kind and f' as {kind}'}"


def get(path: str, **first: str) -> Step:
    return Step("GET", path, first=_states(first))


def put(path: str, body: Any = None, **first: str) -> Step:
    return Step("PUT", path, body, first=_states(first))


def post(path: str, body: Any = None, **first: str) -> Step:
    return Step("POST", path, body, first=_states(first))


def patch(path: str, body: Any = None, **first: str) -> Step:
    return Step("PATCH", path, body, first=_states(first))


def delete(path: str, **first: str) -> Step:
    return Step("DELETE", path, first=_states(first))


def _states(first: Mapping[str, str]) -> dict[str, str]:
    """`src="RUNNING"` is the connector, `src_0="RUNNING"` its task 0, `src_0=""`: it is gone."""
    return {name.replace("_", "/"): state for name, state in first.items()}


def source(folder: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": SOURCE,
        "tasks.max": "1",
        "file": f"{folder}/in.txt",
        "topic": "lines",
        **more,
    }


def sink(folder: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": SINK,
        "tasks.max": "2",
        "file": f"{folder}/out.txt",
        "topics": "lines",
        **more,
    }


def table(folder: str) -> Iterator[Step]:
    """`folder` has the connectors' files; in.txt must be there."""
    yield from of_nothing(folder)
    yield from of_creating(folder)
    yield from of_running(folder)
    yield from of_pausing()
    yield from of_stopping(folder)
    yield from of_offsets(folder)
    yield from of_failing(folder)
    yield from of_plugins(folder)
    yield from of_loggers()
    yield from of_deleting()


def of_nothing(folder: str) -> Iterator[Step]:
    """Before there is any connector."""
    yield get("/")
    yield get("/health")
    yield get("/connectors")
    yield get("/connectors/")
    yield get("/connectors?expand=status&expand=info")
    yield get("/connectors?expand=nonsense")
    yield get("/nowhere")
    yield get("/connectors/none/nowhere")
    yield delete("/connectors")
    yield put("/", {})
    for path in ("", "/config", "/status", "/topics", "/tasks", "/tasks/0/status", "/offsets"):
        yield get(f"/connectors/none{path}")
    yield get("/connectors/none/tasks/x/status")
    for path in ("/pause", "/resume", "/stop", "/topics/reset"):
        yield put(f"/connectors/none{path}")
    yield post("/connectors/none/restart")
    yield post("/connectors/none/restart?includeTasks=true")
    yield post("/connectors/none/restart?onlyFailed=true")
    yield post("/connectors/none/tasks/0/restart")
    yield patch("/connectors/none/config", {"a": "b"})
    yield patch("/connectors/none/offsets", {"offsets": [{"partition": {}, "offset": {}}]})
    yield delete("/connectors/none/offsets")
    yield delete("/connectors/none")
    yield Step("GET", "/connectors", headers={"Accept": "text/html"})
    yield Step("POST", "/connectors", b"{}", {"Content-Type": "text/plain"})
    for method, path, kind in (
        ("POST", "/connectors/none/restart", FORM),
        ("PUT", "/connectors/none/pause", FORM),
        ("DELETE", "/connectors/none", "text/plain"),
        ("GET", "/connectors/none", "text/plain"),
        ("GET", "/connectors", "application/json;charset=utf-8"),
        ("GET", "/connectors", "application/*"),
        ("GET", "/connector-plugins", "text/plain"),
        ("GET", "/admin/loggers", "text/plain"),
        ("GET", "/", "text/plain"),
        ("GET", "/health", "text/plain"),
        ("GET", "/nowhere", "text/plain"),
        ("POST", "/connectors/none", "text/plain"),
    ):
        yield Step(method, path, headers={"Content-Type": kind})
        if method in ("POST", "PUT"):
            yield Step(method, path, b"a=b", {"Content-Type": kind})
    yield Step("OPTIONS", "/connectors/none/tasks-config")
    yield get("/connectors/none/tasks-config")


def of_creating(folder: str) -> Iterator[Step]:
    yield post("/connectors", b"")
    yield post("/connectors", b"{")
    yield post("/connectors", b"[]")
    yield post("/connectors", b'"text"')
    yield post("/connectors", {})
    yield post("/connectors", {"name": "src"})
    yield post("/connectors", {"config": source(folder)})
    yield post("/connectors", {"name": "src", "config": {}})
    yield post("/connectors", {"name": "src", "config": {"connector.class": "com.example.None"}})
    yield post("/connectors", {"name": "src", "config": source(folder, name="other")})
    yield post("/connectors", {"name": "src", "config": source(folder), "more": 1})
    yield post("/connectors", {"name": "src", "config": [1]})
    yield post("/connectors", {"name": "src", "config": source(folder), "initial_state": "asleep"})
    yield post("/connectors", {"name": "src", "config": {"connector.class": SOURCE}})
    yield post("/connectors", {"name": "src", "config": source(folder, **{"tasks.max": "none"})})
    yield post("/connectors", {"name": "src", "config": source(folder, **{"tasks.max": "0"})})
    yield post("/connectors", {"name": "snk", "config": {"connector.class": SINK, "file": "x"}})
    yield post("/connectors", {"name": "snk", "config": sink(folder, **{"topics.regex": "l.*"})})
    yield post("/connectors", {"name": " src ", "config": source(folder)})
    yield post("/connectors", {"name": "src", "config": source(folder)}, src_0="RUNNING")
    yield put("/connectors/snk/config", sink(folder), src="RUNNING")
    yield put("/connectors/other/config", sink(folder, name="snk"))
    yield put("/connectors/snk/config", b"{")
    yield put("/connectors/snk/config", b"")
    yield put("/connectors/snk/config", {})
    yield put("/connectors/snk/config", [])
    yield put("/connectors/snk/config", sink(folder), snk_0="RUNNING", snk_1="RUNNING")


def of_running(folder: str) -> Iterator[Step]:
    yield get("/connectors", src_0="RUNNING", snk_0="RUNNING", snk_1="RUNNING")
    yield get("/connectors?expand=status", src="RUNNING", snk="RUNNING")
    yield get("/connectors?expand=info")
    yield get("/connectors/?expand=status&expand=info")
    for name in ("src", "snk"):
        for path in ("", "/", "/config", "/status", "/tasks", "/tasks/0/status", "/tasks/7/status"):
            yield get(f"/connectors/{name}{path}")
    yield get("/connectors/src/tasks-config")
    yield post("/connectors/src/restart")
    yield post("/connectors/src/restart?includeTasks=nonsense", src="RUNNING", src_0="RUNNING")
    yield post("/connectors/src/restart?onlyFailed=true", src="RUNNING", src_0="RUNNING")
    yield post("/connectors/src/restart?includeTasks=true&onlyFailed=true")
    yield post("/connectors/src/restart?includeTasks=true")
    yield post("/connectors/src/tasks/0/restart", src="RUNNING", src_0="RUNNING")
    yield post("/connectors/src/tasks/7/restart", src="RUNNING", src_0="RUNNING")
    yield post("/connectors/src/tasks/x/restart")
    yield patch("/connectors/src/offsets", {"offsets": [{"partition": {}, "offset": {}}]})
    yield delete("/connectors/src/offsets")
    yield patch("/connectors/snk/config", {"tasks.max": "1", "key.converter": None})
    yield get("/connectors/snk/config", snk="RUNNING", snk_0="RUNNING")
    yield patch("/connectors/snk/config", {"tasks.max": "nonsense"})
    yield patch("/connectors/snk/config", {"name": "other"})
    yield patch("/connectors/snk/config", b"{")
    yield put("/connectors/snk/config", sink(folder))
    yield get("/connectors/snk/tasks", snk_0="RUNNING", snk_1="RUNNING")
    yield put("/connectors/snk/topics/reset")
    yield put("/connectors/src/topics/reset")


def of_pausing() -> Iterator[Step]:
    yield put("/connectors/src/pause", src="RUNNING", src_0="RUNNING")
    yield put("/connectors/src/pause")
    yield get("/connectors/src/status", src="PAUSED", src_0="PAUSED")
    yield get("/connectors/src/tasks")
    yield delete("/connectors/src/offsets")
    yield put("/connectors/src/resume")
    yield get("/connectors/src/status", src="RUNNING", src_0="RUNNING")


def of_stopping(folder: str) -> Iterator[Step]:
    yield put("/connectors/src/stop")
    yield put("/connectors/src/stop")
    yield get("/connectors/src/status", src="STOPPED")
    yield get("/connectors/src")
    yield get("/connectors/src/tasks")
    yield get("/connectors/src/tasks/0/status")
    yield post("/connectors/src/restart?includeTasks=true")
    yield put("/connectors/src/pause", src="STOPPED")
    yield get("/connectors/src/status", src="PAUSED")
    yield put("/connectors/src/stop")
    yield post(
        "/connectors",
        {"name": "late", "config": source(folder), "initial_state": "STOPPED"},
        src="STOPPED",
    )
    yield get("/connectors/late/status", late="STOPPED")
    yield post("/connectors", {"name": "idle", "config": source(folder), "initial_state": "paused"})
    yield get("/connectors/idle/status", idle="PAUSED")
    yield delete("/connectors/idle")
    yield delete("/connectors/late")


def of_offsets(folder: str) -> Iterator[Step]:
    path = "/connectors/src/offsets"
    here = {"filename": f"{folder}/in.txt"}
    yield delete(path, src="STOPPED")
    yield get(path)
    yield patch(path, b"")
    yield patch(path, b"{")
    yield patch(path, {})
    yield patch(path, {"offsets": []})
    yield patch(path, {"offsets": None})
    yield patch(path, {"offsets": [{"partition": None, "offset": None}]})
    yield patch(path, {"offsets": [{"partition": {"file": "x"}, "offset": {"position": 1}}]})
    yield patch(path, {"offsets": [{"partition": here, "offset": {"pos": 1}}]})
    yield patch(path, {"offsets": [{"partition": here, "offset": {"position": "a"}}]})
    yield patch(path, {"offsets": [{"partition": here, "offset": {"position": -1}}]})
    yield patch(path, {"offsets": [{"partition": here, "offset": {"position": 7}}]})
    yield get(path)
    yield patch(path, {"offsets": [{"partition": here, "offset": None}]})
    yield get(path)
    path = "/connectors/snk/offsets"
    at = {"kafka_topic": "lines", "kafka_partition": 0}
    yield put("/connectors/snk/stop")
    yield delete(path, snk="STOPPED")
    yield get(path)
    yield patch(path, {"offsets": [{"partition": {}, "offset": {"kafka_offset": 1}}]})
    yield patch(path, {"offsets": [{"partition": {"topic": "t"}, "offset": {"kafka_offset": 1}}]})
    yield patch(path, {"offsets": [{"partition": at, "offset": {"offset": 1}}]})
    yield patch(path, {"offsets": [{"partition": at, "offset": {"kafka_offset": "x"}}]})
    yield patch(path, {"offsets": [{"partition": at, "offset": {"kafka_offset": 2}}]})
    yield get(path)
    yield patch(path, {"offsets": [{"partition": at, "offset": None}]})
    yield get(path)
    yield put("/connectors/src/resume")
    yield put("/connectors/snk/resume")
    yield get("/connectors", src_0="RUNNING", snk_0="RUNNING", snk_1="RUNNING")


def of_failing(folder: str) -> Iterator[Step]:
    yield put("/connectors/bad/config", sink(folder, file=NOWHERE, **{"tasks.max": "1"}))
    yield get("/connectors/bad/status", bad="RUNNING", bad_0="FAILED")
    yield get("/connectors/bad/tasks/0/status")
    yield get("/connectors/bad")
    yield post("/connectors/bad/restart?includeTasks=true&onlyFailed=true")
    yield get("/connectors/bad/status", bad="RUNNING", bad_0="FAILED")
    yield post("/connectors/bad/tasks/0/restart")
    yield put("/connectors/bad/pause", bad_0="FAILED")
    yield get("/connectors/bad/status", bad="PAUSED", bad_0="FAILED")
    yield put("/connectors/bad/resume")
    yield get("/connectors/bad/status", bad="RUNNING", bad_0="FAILED")
    yield put("/connectors/bad/stop")
    yield get("/connectors/bad/status", bad="STOPPED", bad_0="")
    yield delete("/connectors/bad")


def of_plugins(folder: str) -> Iterator[Step]:
    yield get("/connector-plugins/")
    yield get("/connector-plugins/FileStreamSource/config")
    yield get(f"/connector-plugins/{SINK}/config")
    yield get("/connector-plugins/com.example.None/config")
    yield get("/connector-plugins?connectorsOnly=false")
    yield get("/connector-plugins/org.apache.kafka.connect.transforms.Cast$Value/config")
    yield get("/connector-plugins/org.apache.kafka.connect.json.JsonConverter/config")
    yield get("/connector-plugins/TopicNameMatches/config")
    path = "/connector-plugins/FileStreamSource/config/validate"
    yield put(path, source(folder, name="new"))
    yield put(path, {"connector.class": SOURCE})
    yield put(path, {})
    yield put(path, {"connector.class": SINK, "name": "x"})
    yield put(path, b"{")
    yield put(
        "/connector-plugins/com.example.None/config/validate",
        {"connector.class": "com.example.None"},
    )
    yield put(
        "/connector-plugins/FileStreamSinkConnector/config/validate",
        sink(folder, name="new", **{"tasks.max": "x", "errors.tolerance": "some"}),
    )


def of_loggers() -> Iterator[Step]:
    yield get("/admin/loggers/no.such.logger")
    yield put("/admin/loggers/org.example", {"level": "LOUD"})
    yield put("/admin/loggers/org.example", {})
    yield put("/admin/loggers/org.example", b"{")
    yield put("/admin/loggers/org.example?scope=cluster", {"level": "DEBUG"})


def of_deleting() -> Iterator[Step]:
    yield delete("/connectors/src")
    yield delete("/connectors/snk")
    yield delete("/connectors/snk")
    yield get("/connectors/src/status")
    yield get("/connectors")
