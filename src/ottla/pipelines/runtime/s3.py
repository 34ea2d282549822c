"""Hadoop's client of S3 in a session of Spark, whoever has made it and whenever.

Who brings a client of their own (`spark.jars`, `spark.jars.packages`, Spark's own folder) keeps it.
"""

import os
from typing import TYPE_CHECKING, Any

from ottla.errors import OttlaError
from ottla.pipelines.runtime.jars import s3_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"


def reach_s3(spark: "SparkSession") -> None:
    """Add the client's jars to a session that has none; they travel to its executors."""
    from py4j.protocol import Py4JJavaError

    session: Any = spark._jsparkSession
    loader = session.sharedState().jarClassLoader()
    conf: Any = spark._jsc.hadoopConfiguration()
    try:
        loader.loadClass(FILE_SYSTEM)
    except Py4JJavaError:
        for jar in _jars():
            session.sessionState().resourceLoader().addJar(str(jar))
        conf.set("fs.s3a.input.stream.type", "classic")  # the other one is for Parquet
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region and not conf.get("fs.s3a.endpoint.region"):
        conf.set("fs.s3a.endpoint.region", region)  # Spark takes all of these variables but this
    # Hadoop looks for classes where its configuration says, not where the session does.
    conf.setClassLoader(loader)


def _jars() -> list[str]:
    try:
        return [str(jar) for jar in s3_jars()]
    except OttlaError as error:
        raise OttlaError(
            f"Checkpoints in S3 need Hadoop's client of it. {error} A copy of your own will do: "
            "--conf spark.jars=hadoop-aws-3.5.0.jar,bundle-2.35.4.jar (with their folders)."
        ) from error
