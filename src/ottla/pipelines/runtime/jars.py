"""The jars that let Spark speak Kafka, and S3: resolved once, verified, reused offline.

Spark's own resolver fetches them. Only what is pinned is kept: the other dependencies come with
PySpark, and an older copy of lz4 on the class path of an executor breaks its tasks.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ottla.errors import OttlaError
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.pins import KAFKA, S3, Jar, Jars, Request


def cache_folder() -> Path:
    """Where Ottla keeps what can be made again: `$OTTLA_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("OTTLA_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ottla"


def connector_jars() -> tuple[Path, ...]:
    """Paths of the jars that speak Kafka; resolves them first when the cache lacks one."""
    return _fetched(KAFKA)


def s3_jars() -> tuple[Path, ...]:
    """The same for those that speak S3, which are had only where checkpoints lie there."""
    return _fetched(S3)


def _fetched(wanted: Jars) -> tuple[Path, ...]:
    folder = cache_folder() / "jars"
    if not all(_is_sound(folder / jar.name, jar) for jar in wanted.jars):
        _resolve(folder, wanted)
    return tuple(folder / jar.name for jar in wanted.jars)


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


def _resolve(folder: Path, wanted: Jars) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ottla-jars-") as scratch:
        ivy = Path(scratch)
        for request in wanted.requests:
            _run_resolver(ivy, request)
        for jar in wanted.jars:
            found = ivy / "jars" / jar.name
            if not found.exists() or hashlib.sha256(found.read_bytes()).hexdigest() != jar.sha256:
                raise OttlaError(f"Spark's resolver brought no sound copy of {jar.name}.")
            # A rename is atomic, so two first runs at once cannot leave half a jar.
            partial = folder / f"{jar.name}.{os.getpid()}"
            shutil.copyfile(found, partial)
            partial.replace(folder / jar.name)
            _is_sound(folder / jar.name, jar)


def _run_resolver(ivy: Path, request: Request) -> None:
    import pyspark

    script = ivy / "empty.py"
    script.write_text("")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    # fmt: off
    command = [
        str(submit), "--master", "local[1]", "--conf", f"spark.jars.ivy={ivy}",
        "--packages", ",".join(request.packages),
        "--exclude-packages", ",".join(request.without), str(script),
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
            f"Spark could not fetch {request.packages[0]} "
            f"(needed once; afterwards it works offline): {tail}"
        )
