"""Run as a program: makes the class-data archive that halves Spark's start.

It starts a session as an application would, runs a small query so that the usual classes are
loaded, and lets the JVM write them down as it exits. Started in the background by `sessions`.
"""

import os
import sys
import tempfile
from pathlib import Path


def main(target: Path, lock: Path) -> None:
    os.nice(19)
    partial = target.with_suffix(f".{os.getpid()}")
    os.environ["OTTLA_MAKE_ARCHIVE"] = str(partial)
    try:
        _exercise()
        if partial.exists():
            partial.replace(target)
    finally:
        lock.unlink(missing_ok=True)
        partial.unlink(missing_ok=True)


def _exercise() -> None:
    from ottla.pipelines.runtime import sessions

    spark = sessions.session(sessions.SparkSettings(name="class-data archive", ui=True))
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
