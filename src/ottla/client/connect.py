"""A Connect cluster as its clients know it: Ottla's, Kafka's or any other with that REST.

For the command line. A user and password stand in the URL (`http://user:password@host:8083`).
While workers are counted anew they answer 409: it is asked again.
"""

import base64
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ottla.errors import OttlaError

DEFAULT_URL = "http://127.0.0.1:8083"
URL_VARIABLE = "OTTLA_CONNECT"
TIMEOUT_S = 100.0  # Connect itself gives up after 90
REBALANCE_S_MAX = 30.0
_AGAIN_S = 0.5


class ConnectRefusal(OttlaError):
    """What the worker answers instead; its own sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def url_of(said: str | None) -> str:
    return said or os.environ.get(URL_VARIABLE) or DEFAULT_URL


class ConnectClient:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            token = base64.b64encode(user.encode()).decode()
            self._headers["Authorization"] = f"Basic {token}"
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))

    def about(self) -> dict[str, Any]:
        """`version`, `commit` and `kafka_cluster_id`."""
        found: dict[str, Any] = self._ask("GET", "/")
        return found

    def statuses(self) -> dict[str, dict[str, Any]]:
        """By connector: `status` and `info`."""
        found: dict[str, dict[str, Any]] = self._ask("GET", "/connectors?expand=status&expand=info")
        return found

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"/connectors/{_path(name)}/status")
        return found

    def config(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self._ask("GET", f"/connectors/{_path(name)}/config")
        return found

    def put(self, name: str, config: Mapping[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("PUT", f"/connectors/{_path(name)}/config", config)
        return found

    def act(self, name: str, action: str) -> None:
        """pause, resume or stop."""
        self._ask("PUT", f"/connectors/{_path(name)}/{action}")

    def restart(self, name: str, *, only_failed: bool) -> None:
        query = f"includeTasks=true&onlyFailed={str(only_failed).lower()}"
        self._ask("POST", f"/connectors/{_path(name)}/restart?{query}")

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{_path(name)}")

    def offsets(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", f"/connectors/{_path(name)}/offsets")[
            "offsets"
        ]
        return found

    def topics(self, name: str) -> list[str]:
        """That it has used; 403 where the worker does not keep them."""
        found: list[str] = self._ask("GET", f"/connectors/{_path(name)}/topics")[name]["topics"]
        return found

    def alter_offsets(self, name: str, offsets: list[dict[str, Any]]) -> str:
        path = f"/connectors/{_path(name)}/offsets"
        return str(self._ask("PATCH", path, {"offsets": offsets})["message"])

    def reset_offsets(self, name: str) -> str:
        return str(self._ask("DELETE", f"/connectors/{_path(name)}/offsets")["message"])

    def plugins(self, *, every: bool = False) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._ask(
            "GET", f"/connector-plugins?connectorsOnly={str(not every).lower()}"
        )
        return found

    def keys(self, plugin: str) -> list[dict[str, Any]]:
        """What a plugin's configuration may say."""
        found: list[dict[str, Any]] = self._ask("GET", f"/connector-plugins/{_path(plugin)}/config")
        return found

    def validate(self, config: Mapping[str, str]) -> dict[str, Any]:
        plugin = config.get("connector.class") or ""
        path = f"/connector-plugins/{_path(plugin)}/config/validate"
        found: dict[str, Any] = self._ask("PUT", path, config)
        return found

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        deadline = time.monotonic() + REBALANCE_S_MAX
        while True:
            try:
                return self._asked_once(method, path, body)
            except ConnectRefusal as refusal:
                if refusal.status != 409 or "already exists" in str(refusal):
                    raise
                if time.monotonic() > deadline:
                    raise
            time.sleep(_AGAIN_S)

    def _asked_once(self, method: str, path: str, body: Any) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=sent, headers=self._headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ConnectRefusal(error.code, _sentence(error)) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise OttlaError(
                f"No Connect answers at {self.url} ({reason}). Start one with "
                "`ottla connect start`, or name another with --url."
            ) from None
        return json.loads(text) if text else None


def _path(name: str) -> str:
    return quote(name, safe="")


def _sentence(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError):
        return f"It answers {error.code}."
