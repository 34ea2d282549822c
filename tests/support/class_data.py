"""A class-data archive of Apache Kafka's jars, with which tests start its JVMs.

Made once beside the jars, by a node that starts and ends: a JVM that has it needs a third less
processor time to start. Benches start Kafka as its own scripts do, without one.
"""

import functools
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from support.homes import CLUSTER_ID, Home
from support.jars import class_path, kafka_libraries
from support.one_at_a_time import one_at_a_time
from support.wire import answers

BRIEF = ("java", "-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1")
"""For JVMs that live for a minute: what the second compiler makes of their code never pays."""
MAKING_S_MAX = 90


@functools.cache
def brief_java() -> tuple[str, ...]:
    archive = _archive()
    return (*BRIEF, f"-XX:SharedArchiveFile={archive}", "-Xshare:auto") if archive else BRIEF


def _archive() -> Path | None:
    """None where it cannot be made, as beside jars that somebody else keeps."""
    libraries = kafka_libraries()
    java = Path(shutil.which("java") or "java").resolve()
    made_by = f"{java.parent.parent.name}-{int(java.stat().st_mtime)}"  # no other can use it
    archive = libraries.with_name(f"{libraries.name}-{made_by}.jsa")
    if not archive.exists():
        try:
            with one_at_a_time(archive.with_suffix(".lock")):
                if not archive.exists():
                    for outdated in archive.parent.glob(f"{libraries.name}-*.jsa"):
                        outdated.unlink()
                    _make(archive)
        except (OSError, subprocess.SubprocessError):
            return None
    return archive


def _make(archive: Path) -> None:
    unfinished = archive.with_suffix(".making")
    with tempfile.TemporaryDirectory(prefix="ottla-class-data-") as folder:
        home = Home(path=Path(folder) / "node")
        file = home.write_properties()
        kafka = [*BRIEF, "-cp", class_path()]
        tool = [*kafka, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(file)]
        subprocess.run(tool, check=True, capture_output=True)
        node = subprocess.Popen(
            [*BRIEF, f"-XX:ArchiveClassesAtExit={unfinished}", *kafka[-2:], "kafka.Kafka", file],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + MAKING_S_MAX
            while not answers(home.bootstrap) and node.poll() is None:
                if time.monotonic() > deadline:
                    raise TimeoutError("no node that an archive could be made of")
                time.sleep(0.05)
            node.terminate()
            node.wait(MAKING_S_MAX)
        finally:
            node.kill()
            node.wait()
    unfinished.rename(archive)
