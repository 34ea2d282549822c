"""Kafka Connect itself, as a process: the judge beside our workers."""

import os
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from support.brokers import die_with_parent
from support.http_services import HttpService
from support.jars import connect_class_path
from system.connect.asking import ask
from system.connect.requests import get

QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1")  # a JVM that is about to end again


class Original(HttpService):
    """A distributed worker; `options` go before its own, and may be those of one of ours."""

    START_S_MAX = 90.0
    PAUSE_S = 0.2

    def __init__(
        self,
        bootstrap: str,
        options: dict[str, str] | None = None,
        java: Sequence[str] = QUICK,
    ) -> None:
        own = uuid.uuid4().hex[:8]
        super().__init__()
        converter = "org.apache.kafka.connect.json.JsonConverter"
        self.options = {
            "bootstrap.servers": bootstrap,
            "group.id": f"connect-{own}",
            "key.converter": converter,
            "value.converter": converter,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "offset.flush.interval.ms": "1000",
            "exactly.once.source.support": "enabled",
            **{
                f"{storage}.storage.{name}": value
                for storage in ("config", "offset", "status")
                for name, value in (
                    ("topic", f"connect-{storage}-{own}"),
                    ("replication.factor", "1"),
                )
            },
            **(options or {}),
            "listeners": f"http://127.0.0.1:{self.port}",
        }
        self._java = tuple(java)
        self.folder = Path(tempfile.mkdtemp(prefix="connect-"))

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def file(self) -> Path:
        return self.folder / "worker.properties"

    def launch(self) -> None:
        file = self.file
        file.write_text("".join(f"{name}={value}\n" for name, value in self.options.items()))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *("java", *self._java, "-cp", connect_class_path()),
                    *("org.apache.kafka.connect.cli.ConnectDistributed", str(file)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def serves(self) -> bool:
        return ask(self.url, get("/health")).status == 200
