"""Sends the table to a worker, and makes its answers comparable: times, traces and names of its own
are taken out."""

import http.client
import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from system.connect.requests import Step

WAIT_S_MAX = 180
_OWN = {
    "worker_id": "WORKER",
    "trace": "TRACE",
    "commit": "COMMIT",
    "version": "VERSION",
    "kafka_cluster_id": "CLUSTER",
    "documentation": "WORDS",
}


class Answer(NamedTuple):
    status: int
    body: Any  # decoded, where it is JSON
    headers: dict[str, str]  # those that count


def ask(url: str, step: Step, timeout: float = 120) -> Answer:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=timeout)
    typed = {} if step.body is None else {"Content-Type": "application/json"}
    try:
        connection.request(step.method, step.path, step.sent, {**typed, **step.headers})
        answer = connection.getresponse()
        raw = answer.read()
        headers = {
            name: str(answer.getheader(name))
            for name in ("content-type", "location")
            if answer.getheader(name) is not None
        }
        try:
            return Answer(answer.status, json.loads(raw) if raw else None, headers)
        except ValueError:
            return Answer(answer.status, raw.decode(), headers)
    finally:
        connection.close()


def answers(url: str, steps: Iterable[Step], folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each request as a text, and what was answered."""
    for step in steps:
        for name, state in step.first.items():
            until(url, name, state)
        answer = ask(url, step)
        shown = {"status": answer.status, "body": answer.body, "headers": answer.headers}
        yield _placeless(str(step), url, folder), comparable(shown, url, folder)


def until(url: str, name: str, state: str) -> None:
    """Of a connector, or `NAME/TASK`."""
    connector, _, task = name.partition("/")
    path = (
        f"/connectors/{connector}/status"
        if not task
        else (f"/connectors/{connector}/tasks/{task}/status")
    )
    deadline = time.monotonic() + WAIT_S_MAX
    seen: Any = None
    while time.monotonic() < deadline:
        seen = ask(url, Step("GET", path)).body
        found = seen.get("connector", seen).get("state") if isinstance(seen, dict) else None
        if (found or "") == state:
            return
        time.sleep(0.05)
    raise AssertionError(f"{name} does not become {state}: {seen}")


def comparable(value: Any, url: str, folder: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _OWN[key] if key in _OWN and isinstance(one, str) else comparable(one, url, folder)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [comparable(one, url, folder) for one in value]
    if isinstance(value, str):
        return _placeless(value, url, folder)
    return value


def _placeless(text: str, url: str, folder: str) -> str:
    return text.replace(folder, "FOLDER").replace(url, "URL")


_VERSIONED = ("default_value", "value", "recommended_values")
_JACKSON = ("REDACTED", "Cannot invoke")
_JAVA = re.compile(r"org\.apache\.kafka\.connect\.errors\.ConnectException: ")
# Of plugins: other connectors, and converters with a registry, are ours alone.
_BOTH_HAVE = tuple(
    f"org.apache.kafka.connect.{one}."
    for one in ("file", "transforms", "converters", "json", "storage")
)
_AVAILABLE = re.compile(r"(, available connectors are|\. Java's plugins do not run).*", re.DOTALL)


def difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """What Connect answered, and what was answered here; None where they are the same.

    What Java's JSON reader, or a NullPointerException, says of a malformed body has its code, but
    not its words; what plugins there are is each one's own.
    """
    if theirs["status"] >= 300 or ours["status"] >= 300:
        theirs, ours = ({**one, "headers": {}} for one in (theirs, ours))
    message = theirs["body"].get("message", "") if isinstance(theirs["body"], dict) else ""
    if any(one in message for one in _JACKSON):
        theirs, ours = (
            {**one, "body": {**(one["body"] or {}), "message": "…"}} for one in (theirs, ours)
        )
    expected, found = (_normal(one) for one in (theirs, ours))
    places = list(places_of(expected, found))
    return "\n".join(places) if places else None


def places_of(theirs: Any, ours: Any, at: str = "") -> Iterator[str]:
    """Where two answers are not the same."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in dict.fromkeys((*theirs, *ours)):
            yield from places_of(theirs.get(key, "(none)"), ours.get(key, "(none)"), f"{at}/{key}")
    elif theirs != ours:
        yield f"  {at}: Connect {json.dumps(theirs)}, Ottla {json.dumps(ours)}"


def _is_ours_alone(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("io.confluent.connect.")


def _normal(value: Any) -> Any:
    """Lists of keys by their names: their order is Java's."""
    match value:
        case {"name": str(name)} if name.endswith("connector.plugin.version"):
            return {key: one for key, one in value.items() if key not in _VERSIONED}
        case dict():
            return {key: _normal(one) for key, one in value.items()}
        case [{"definition": _}, *_]:
            return {one["value"]["name"]: _normal(one) for one in value}
        case [{"display_name": _}, *_]:
            return {one["name"]: _normal(one) for one in value}
        case [{"class": str(), "type": _}, *_]:
            return [one for one in value if one["class"].startswith(_BOTH_HAVE)]
        case list():
            return [_normal(one) for one in value if not _is_ours_alone(one)]
        case str():
            return _AVAILABLE.sub("", _JAVA.sub("", value))
    return value
