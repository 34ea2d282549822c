"""Apache Kafka's jars, fetched once.

`OTTLA_KAFKA_LIBS` names a folder that has them already. Otherwise they go to `.kafka/jars` in the
project: through Maven where it is installed, else through the resolver that comes with Spark.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KAFKA_VERSION = "4.3.1"
PACKAGES = tuple(
    f"org.apache.kafka:{name}:{KAFKA_VERSION}"
    for name in ("kafka_2.13", "kafka-tools", "kafka-streams")
)

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>ottla</groupId><artifactId>kafka-for-comparison</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>{version}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
<version>{version}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId>
<version>{version}</version></dependency>
</dependencies></project>"""


def kafka_libraries() -> Path:
    """The folder with the jars; the first call on a machine downloads them."""
    given = os.environ.get("OTTLA_KAFKA_LIBS")
    if given:
        return Path(given)
    folder = PROJECT / ".kafka" / "jars"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix="libs-", dir=folder.parent))
        fetch_with_maven(unfinished) if shutil.which("mvn") else fetch_with_spark(unfinished)
        unfinished.rename(folder)
    return folder


def class_path() -> str:
    return f"{kafka_libraries()}/*"


def fetch_with_maven(folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(POM.format(version=KAFKA_VERSION))
    subprocess.run(
        ["mvn", "-q", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
        check=True,
    )
    pom.unlink()


def fetch_with_spark(folder: Path) -> None:
    """Spark runs an empty program, for the sake of the packages that it resolves on the way."""
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    with tempfile.TemporaryDirectory() as ivy:
        script = Path(ivy) / "empty.py"
        script.touch()
        options = ["--master", "local[1]", "--conf", f"spark.jars.ivy={ivy}"]
        command = [str(submit), *options, "--packages", ",".join(PACKAGES), str(script)]
        subprocess.run(command, check=True, capture_output=True)
        for jar in (Path(ivy) / "jars").glob("*.jar"):
            group_and_name = jar.name  # org.apache.kafka_kafka-clients-….jar
            shutil.copy(jar, folder / group_and_name.partition("_")[2])
