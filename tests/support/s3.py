"""A store with S3's interface: Versity's gateway over a folder."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.ports.network import free_ports
from support.brokers import die_with_parent
from support.jars import PROJECT

GATEWAY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
START_S = 30.0
SECRET = "S3cret-of-the-lake"


def gateway_program() -> Path:
    folder = PROJECT / ".kafka" / "go"
    program = folder / "versitygw"
    if not program.exists():
        if shutil.which("go") is None:
            pytest.skip("needs Go")
        environment = os.environ | {"GOBIN": str(folder)}
        subprocess.run(["go", "install", GATEWAY], check=True, env=environment)
    return program


class Gateway:
    """Its bucket is `lake`, its user `me`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "lake").mkdir(exist_ok=True)
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def start(self, secret: str = SECRET) -> None:
        keys = {"ROOT_ACCESS_KEY": "me", "ROOT_SECRET_KEY": secret}
        self._process = subprocess.Popen(
            [gateway_program(), "--port", f"127.0.0.1:{self.port}", "posix", self.folder],
            env=os.environ | keys,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        deadline = time.monotonic() + START_S
        while socket.socket().connect_ex(("127.0.0.1", self.port)) != 0:
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)  # it tells nobody that it listens

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def running_gateway(folder: Path) -> Iterator[Gateway]:
    gateway = Gateway(folder)
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.kill()
