"""Apache Kafka's jars, fetched once.

`OTTLA_KAFKA_LIBS` names a folder that has them already. Otherwise they go to `.kafka/libs` in the
project: through Maven where it is installed, else file by file from Maven Central.
"""

import os
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KAFKA_VERSION = "4.3.1"
CENTRAL = "https://repo1.maven.org/maven2"
COORDINATES = Path(__file__).with_name("jars.txt")

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>ottla</groupId><artifactId>kafka-for-comparison</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>{version}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
<version>{version}</version></dependency>
</dependencies></project>"""


def kafka_libraries() -> Path:
    """The folder with the jars; the first call on a machine downloads them."""
    given = os.environ.get("OTTLA_KAFKA_LIBS")
    if given:
        return Path(given)
    folder = PROJECT / ".kafka" / "libs"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix="libs-", dir=folder.parent))
        fetch_with_maven(unfinished) if shutil.which("mvn") else fetch_from_central(unfinished)
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


def fetch_from_central(folder: Path) -> None:
    for line in COORDINATES.read_text().split():
        group, artifact, version = line.split(":")
        name = f"{artifact}-{version}.jar"
        address = f"{CENTRAL}/{group.replace('.', '/')}/{artifact}/{version}/{name}"
        with urllib.request.urlopen(address, timeout=60) as source:
            (folder / name).write_bytes(source.read())
