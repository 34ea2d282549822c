"""JSON in, and JSON out, in Connect's fields."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ottla.connect.connector import ConnectError
from ottla.connect.plugins import find
from ottla.connect.records import Status
from ottla.connect.state import ClusterState
from ottla.serving.errors import RestError

_VALUES = (str, bool, int, float)


def not_found(message: str) -> RestError:
    return RestError(404, 404, message)


def bad_request(message: str) -> RestError:
    return RestError(400, 400, message)


def failed(message: str) -> RestError:
    """What Connect answers to whatever its JSON reader refuses, too."""
    return RestError(500, 500, message)


def conflict(message: str) -> RestError:
    return RestError(409, 409, message)


# --- in


def read_object(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = "The body is empty." if not body else f"The body is no JSON: {error}"
        raise failed(message) from None
    if not isinstance(found, dict):
        raise failed("The body is no JSON object.")
    return found


def read_config(found: Any, what: str = "The body") -> dict[str, str | None]:
    """Numbers and booleans become texts, as Jackson makes them."""
    if not isinstance(found, dict):
        raise failed(f"{what} is no JSON object of texts.")
    config: dict[str, str | None] = {}
    for name, value in found.items():
        if value is not None and not isinstance(value, _VALUES):
            raise failed(f"{name} is no text.")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        config[name] = None if value is None else text
    return config


# --- out


def type_of(config: Mapping[str, str | None] | None) -> str:
    try:
        return find((config or {}).get("connector.class") or "").kind
    except ConnectError:
        return "unknown"


def info_fields(
    state: ClusterState, name: str, config: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Of a connector that is there; `config` is shown instead of the stored one."""
    connector = state.configs.connectors[name]
    shown = connector.config if config is None else config
    return {
        "name": name,
        "config": shown,
        "tasks": [task_id(name, index) for index in range(len(connector.tasks))],
        "type": type_of(shown),
    }


def task_id(name: str, index: int) -> dict[str, Any]:
    return {"connector": name, "task": index}


def state_fields(status: Status, state: str | None = None) -> dict[str, Any]:
    fields = {
        "state": state or status.state,
        "worker_id": status.worker_id,
        "version": status.version,
    }
    return {**fields, "trace": status.trace} if status.trace else fields


def status_fields(
    state: ClusterState, name: str, instead: Mapping[int | None, str] | None = None
) -> dict[str, Any]:
    """404 where none is known. `instead` are states that are shown for others; None: the
    connector's."""
    status = state.statuses.connectors.get(name)
    if status is None:
        raise not_found(f"No status found for connector {name}")
    shown = instead or {}
    return {
        "name": name,
        "connector": state_fields(status, shown.get(None)),
        "tasks": [
            {"id": index, **state_fields(task, shown.get(index))}
            for index, task in state.statuses.of_tasks(name)
        ],
        "type": type_of(state.config(name)),
    }
