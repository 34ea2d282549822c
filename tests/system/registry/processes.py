"""Registries as processes that a test starts, stops and kills, and requests to them."""

import http.client
import json
import os
import subprocess
import sys
import uuid
from typing import Any, NamedTuple

from support.brokers import die_with_parent
from support.http_services import HttpService
from support.jars import PROJECT

V1 = "application/vnd.schemaregistry.v1+json"


class Answer(NamedTuple):
    status: int
    body: Any  # decoded, where it is JSON
    content_type: str | None

    @property
    def code(self) -> int | None:
        """Of an error."""
        return self.body["error_code"] if isinstance(self.body, dict) else None


class Registry(HttpService):
    START_S_MAX = 30.0
    STOP_S_MAX = 10.0

    def __init__(
        self,
        bootstrap: str,
        name: str = "registry",
        port: int | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        super().__init__(port)
        own = f"{name}-{uuid.uuid4().hex[:8]}"
        self.options = {
            "kafkastore.topic": f"_schemas-{own}",
            "schema.registry.group.id": f"sr-{own}",
            "kafkagroup.session.timeout.ms": "6000",
            "kafkagroup.heartbeat.interval.ms": "500",
            **(options or {}),
        }

    @property
    def topic(self) -> str:
        return self.options["kafkastore.topic"]

    def another(self) -> "Registry":
        """A second one of the same group."""
        return Registry(self.bootstrap, options=self.options)

    def launch(self) -> None:
        settings = [f"--set={name}={value}" for name, value in self.options.items()]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "ottla", "registry", "start"),
                *("--bootstrap", self.bootstrap, "--listen", f"127.0.0.1:{self.port}"),
                *settings,
            ],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def serves(self) -> bool:
        return self.get("/subjects").status == 200

    # --- requests

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: float = 30,
    ) -> Answer:
        """`body` is sent as JSON, unless it is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        typed = {} if body is None else {"Content-Type": V1}
        try:
            connection.request(method, path, sent, {**typed, **(headers or {})})
            answer = connection.getresponse()
            raw = answer.read()
            try:
                decoded = json.loads(raw) if raw else None
            except ValueError:
                decoded = raw.decode()
            return Answer(answer.status, decoded, answer.getheader("content-type"))
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)

    def put(self, path: str, body: Any) -> Answer:
        return self.ask("PUT", path, body)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    def register(self, subject: str, schema: Any, **more: Any) -> Answer:
        """`schema` is the text, or JSON that becomes one."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self.post(f"/subjects/{subject}/versions", {"schema": text, **more})
