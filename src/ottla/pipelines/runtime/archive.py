"""The class-data archive that halves Spark's start; run as a program, this makes it.

It starts a session as an application would, runs a small query so that the usual classes are
loaded, and lets the JVM write them down as it exits. Of each Java and Spark the newest is kept: an
archive has 170 MB, and no other release of Ottla than its maker's can use it.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import SparkSettings, archive_path, outdated_archives

TAKES_AT_MOST_S = 600


def make_in_background() -> "subprocess.Popen[bytes] | None":
    """Start making the class-data archive, once, at the lowest priority; None when it is there."""
    target = archive_path()
    lock = target.with_suffix(".making")
    if target.exists() or not hasattr(os, "nice"):
        return None
    with contextlib.suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > TAKES_AT_MOST_S:
            lock.unlink()  # whoever was making it has died
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return None
    return subprocess.Popen(
        [sys.executable, "-m", "ottla.pipelines.runtime.archive", str(target), str(lock)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def main(target: Path, lock: Path) -> None:
    os.nice(19)
    partial = target.with_suffix(f".{os.getpid()}")
    os.environ["OTTLA_MAKE_ARCHIVE"] = str(partial)
    try:
        _exercise()
        if partial.exists():
            partial.replace(target)
            for outdated in outdated_archives():  # a JVM that has it open keeps it until its end
                outdated.unlink(missing_ok=True)
    finally:
        lock.unlink(missing_ok=True)
        partial.unlink(missing_ok=True)


def _exercise() -> None:
    spark = sessions.session(SparkSettings(name="class-data archive", ui=True))
    with tempfile.TemporaryDirectory(prefix="ottla-archive-") as folder:
        query = (
            spark.readStream.format("rate")
            .load()
            .selectExpr("to_json(struct(value)) AS value", "value % 7 AS key")
            .groupBy("key")
            .count()
            .writeStream.format("memory")
            .queryName("archive")
            .outputMode("update")
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(60)
        query.stop()
        for name in (
            "org.apache.spark.sql.kafka010.KafkaSourceProvider",
            "org.apache.kafka.clients.consumer.KafkaConsumer",
            "org.apache.kafka.clients.producer.KafkaProducer",
        ):
            spark._jvm.java.lang.Class.forName(name)  # type: ignore[union-attr]
    sessions.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
