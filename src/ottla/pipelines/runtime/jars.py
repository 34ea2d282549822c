"""The jars that let Spark speak Kafka: resolved once, verified, reused offline.

Spark's own resolver fetches them (two runs, because the connector asks for a release of its token
provider that cannot be had). Only four jars are kept: the other dependencies come with PySpark,
and an older copy of lz4 on the class path of an executor breaks its tasks.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ottla.errors import OttlaError
from ottla.pipelines.runtime.java import find_java

EXCLUDED = ",".join(
    (
        "org.apache.hadoop:hadoop-client-api",
        "org.apache.hadoop:hadoop-client-runtime",
        "org.scala-lang.modules:scala-parallel-collections_2.13",
        "com.google.code.findbugs:jsr305",
        "org.slf4j:slf4j-api",
        "org.xerial.snappy:snappy-java",
        "org.lz4:lz4-java",
        "at.yawk.lz4:lz4-java",
    )
)
TOKEN_PROVIDER = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@dataclass(frozen=True, slots=True)
class Jar:
    name: str
    sha256: str


JARS = (
    Jar(
        "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.spark_spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Jar(
        "org.apache.kafka_kafka-clients-3.9.2.jar",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons_commons-pool2-2.13.1.jar",
        "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    ),
)


def cache_folder() -> Path:
    """Where Ottla keeps what can be made again: `$OTTLA_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("OTTLA_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ottla"


def connector_jars() -> tuple[Path, ...]:
    """Paths of the four jars; resolves them first when the cache lacks one."""
    folder = cache_folder() / "jars"
    if not all(_is_sound(folder / jar.name, jar) for jar in JARS):
        _resolve(folder)
    return tuple(folder / jar.name for jar in JARS)


def _is_sound(path: Path, jar: Jar) -> bool:
    """Whether the file is there with the pinned content; a side file remembers a full check."""
    if not path.exists():
        return False
    seal = path.with_suffix(".sha256")
    stamp = f"{jar.sha256} {path.stat().st_size} {path.stat().st_mtime_ns}"
    if seal.exists() and seal.read_text() == stamp:
        return True
    if hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
        return False
    seal.write_text(stamp)
    return True


def _resolve(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ottla-jars-") as scratch:
        ivy = Path(scratch)
        _run_resolver(ivy, f"{TOKEN_PROVIDER}:4.0.0", f"{EXCLUDED},org.apache.kafka:kafka-clients")
        _run_resolver(ivy, f"{CONNECTOR}:4.2.0", f"{EXCLUDED},{TOKEN_PROVIDER}")
        for jar in JARS:
            found = ivy / "jars" / jar.name
            if not found.exists() or hashlib.sha256(found.read_bytes()).hexdigest() != jar.sha256:
                raise OttlaError(f"Spark's resolver brought no sound copy of {jar.name}.")
            # A rename is atomic, so two first runs at once cannot leave half a jar.
            partial = folder / f"{jar.name}.{os.getpid()}"
            shutil.copyfile(found, partial)
            partial.replace(folder / jar.name)
            _is_sound(folder / jar.name, jar)


def _run_resolver(ivy: Path, package: str, excluded: str) -> None:
    import pyspark

    script = ivy / "empty.py"
    script.write_text("")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    # fmt: off
    command = [
        str(submit), "--master", "local[1]", "--conf", f"spark.jars.ivy={ivy}",
        "--packages", package, "--exclude-packages", excluded, str(script),
    ]
    # fmt: on
    environment = os.environ | {"JAVA_HOME": str(find_java()), "PYSPARK_PYTHON": sys.executable}
    environment.pop("SPARK_HOME", None)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        tail = " ".join(done.stderr.strip().splitlines()[-3:])
        raise OttlaError(
            f"Spark could not fetch {package} (needed once; afterwards it works offline): {tail}"
        )
