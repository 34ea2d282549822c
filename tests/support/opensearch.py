"""OpenSearch itself: one node, which looks for a free port by itself."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opensearchpy import OpenSearch

from support.brokers import die_with_parent
from support.jars import opensearch_libraries

START_S = 240.0


@dataclass(frozen=True)
class SearchNode:
    url: str
    pid: int


@contextmanager
def running_opensearch(folder: Path) -> Iterator[SearchNode]:
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [
                *("java", "-Xmx512m", "-XX:TieredStopAtLevel=1"),
                *("-cp", f"{opensearch_libraries()}/*"),
                "org.codelibs.opensearch.runner.OpenSearchRunner",
                *("-basePath", str(folder), "-numOfNode", "1", "-clusterName", folder.name),
            ],
            stdout=written,
            stderr=written,
            preexec_fn=die_with_parent,
        )
    try:
        deadline = time.monotonic() + START_S
        while (url := _address(log)) is None or not _is_up(url):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.5)  # it tells nobody that it is ready
        yield SearchNode(url, process.pid)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _address(log: Path) -> str | None:
    """Its log tells which port it has found."""
    found = re.search(r"HttpServerTransport.*publish_address \{[^}]*:(\d+)\}", log.read_text())
    return None if found is None else f"http://127.0.0.1:{found[1]}"


def _is_up(url: str) -> bool:
    client = OpenSearch(url, max_retries=0)
    try:
        return client.cluster.health()["status"] in ("green", "yellow")
    except Exception:
        return False
    finally:
        client.close()
