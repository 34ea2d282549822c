"""The two workers of the comparison, over one broker: Kafka Connect 4.3.1 with Debezium, and ours.

Both write JSON with schemas, and sources of both are exactly once; each transaction of Connect's is
then one poll of its connector (`transaction.boundary=poll`, its default).
"""

import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from bench.processes import cpu_seconds
from ottla.testing import Connect
from support.debezium import JDBC, POSTGRES, plugin_folder
from system.connect.original import Original

Name = Literal["connect", "ottla"]
NAMES: tuple[Name, Name] = ("connect", "ottla")
CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
# As connect-distributed.sh starts it.
JAVA = (
    *("-server", "-Xms256M", "-Xmx2G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)
READY_S = 120.0


def settings(own: str, exactly_once: bool) -> dict[str, str]:
    storages = ("config", "offset", "status")
    return {
        "group.id": f"bench-{own}",
        "key.converter": CONVERTER,
        "value.converter": CONVERTER,
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        "exactly.once.source.support": "enabled" if exactly_once else "disabled",
        **{f"{one}.storage.topic": f"bench-{one}-{own}" for one in storages},
        **{f"{one}.storage.replication.factor": "1" for one in storages},
    }


@dataclass(frozen=True)
class Side:
    """A worker that can be started, stopped and asked."""

    name: Name
    worker: Connect | Original

    @classmethod
    def of(cls, name: Name, bootstrap: str, *, exactly_once: bool = True) -> "Side":
        said = settings(f"{name}-{uuid.uuid4().hex[:6]}", exactly_once)
        if name == "ottla":
            return cls(name, Connect(bootstrap, settings=said))
        said["plugin.path"] = ",".join(str(plugin_folder(one)) for one in (POSTGRES, JDBC))
        said["offset.flush.interval.ms"] = "60000"  # Connect's own default
        return cls(name, Original(bootstrap, said, JAVA))

    @property
    def pid(self) -> int:
        if isinstance(self.worker, Connect):
            return self.worker.pid
        assert self.worker.process is not None
        return self.worker.process.pid

    def start(self) -> None:
        """Returns when it serves."""
        if isinstance(self.worker, Connect):
            self.worker.start()
        else:
            self.worker.launch()
            self.worker.wait_until_serving()

    def launch(self) -> None:
        """Returns at once."""
        if isinstance(self.worker, Connect):
            threading.Thread(target=self.worker.start, daemon=True).start()
        else:
            self.worker.launch()

    def stop(self) -> None:
        self.worker.stop()

    def close(self) -> None:
        if isinstance(self.worker, Connect):
            self.worker.close()
        else:
            self.worker.stop()

    def cpu_s(self) -> float:
        return cpu_of(self.pid)

    # REST

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        place = urlsplit(self.worker.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
        sent = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            raw = answer.read()
            return answer.status, json.loads(raw) if raw else None
        finally:
            connection.close()

    def put(self, name: str, config: Mapping[str, str]) -> None:
        def accepted() -> bool:
            code, said = self.ask("PUT", f"/connectors/{name}/config", {"name": name, **config})
            if code not in (200, 201, 409):
                raise SystemExit(f"{self.name} refuses {name}: {said}")
            return code != 409  # a worker that is busy with a rebalance

        until(accepted, f"{self.name} takes {name}")

    def bring(self, name: str, verb: Literal["stop", "resume"], state: str) -> None:
        until(
            lambda: self.ask("PUT", f"/connectors/{name}/{verb}")[0] in (202, 204),
            f"{name} can be told to {verb}",
        )
        until(lambda: self.state(name) == state, f"{name} is {state}")

    def state(self, name: str) -> str | None:
        """Of the connector; a task that failed ends everything."""
        code, said = self.ask("GET", f"/connectors/{name}/status")
        if code != 200:
            return None
        for task in said["tasks"]:
            if task["state"] == "FAILED":
                raise SystemExit(f"{self.name}: {name} failed: {task['trace'][:3000]}")
        state: str = said["connector"]["state"]
        return None if state == "RUNNING" and not said["tasks"] else state

    def delete(self, name: str) -> None:
        self.ask("DELETE", f"/connectors/{name}")
        until(lambda: self.ask("GET", f"/connectors/{name}/status")[0] == 404, f"{name} is gone")


def cpu_of(pid: int) -> float:
    """Of the process and all below it; one of them may just be ending."""
    for _ in range(10):
        with suppress(OSError, IndexError):
            return cpu_seconds(pid)
    return cpu_seconds(pid)


def until(condition: Callable[[], bool], what: str, within_s: float = READY_S) -> None:
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"Waited {within_s:g} s in vain until {what}.")
        time.sleep(0.05)
