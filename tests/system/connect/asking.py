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

WAIT_S_MAX = 60
_OWN = {"worker_id": "WORKER", "trace": "TRACE", "commit": "COMMIT", "version": "VERSION"}


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
        if found == state:
            return
        time.sleep(0.05)
    raise AssertionError(f"{name} does not become {state}: {seen}")


def comparable(value: Any, url: str, folder: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _OWN[key]
            if key in _OWN and isinstance(one, str)
            else "CLUSTER"
            if key == "kafka_cluster_id"
            else comparable(one, url, folder)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [comparable(one, url, folder) for one in value]
    if isinstance(value, str):
        return _placeless(value, url, folder)
    return value


def _placeless(text: str, url: str, folder: str) -> str:
    text = text.replace(folder, "FOLDER").replace(url, "URL")
    return re.sub(r"@[0-9a-f]{6,8}\b", "@HASH", text)


def expected_of(answer: dict[str, Any]) -> Any:
    return answer
