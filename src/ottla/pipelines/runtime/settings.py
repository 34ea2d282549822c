"""Every setting of a Spark session, and the flags of its JVM.

Everything a query relies on (state store, checkpoint format, fixed partitioning) is set here, once.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ottla.pipelines.runtime.compiled import compiled_jar, tag
from ottla.pipelines.runtime.jars import cache_folder, connector_jars
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.spark_home import installed_spark, spark_home

# Real-time queries hold a slot per source partition and per shuffle partition for as long as they
# run, so slots are many and cores few. The 4 is the number of attempts of a task: plain local[N]
# never retries.
LOCAL_MASTER = "local[128,4]"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

STREAMING: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",  # a replayed batch must be cut the same way
    "spark.sql.ansi.enabled": "false",  # a bad cast is a null, not the end of the query
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.datetime.java8API.enabled": "true",  # times pass through our classes as they are
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # From the first run on, else a checkpoint cannot pass between micro-batches and real time.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # A commit writes what changed; otherwise it would write the database out, and be waited for.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Who is killed while the first batch is being committed leaves a file behind, and must start
    # again all the same. Checkpoints are named after the application: nobody shares them.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # Who closes a client waits a minute for a broker that is away: stopping must not.
    "spark.sql.streaming.stopTimeout": "5s",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # Every step of every batch would be a closure, which Spark reads, cleans and serialises anew.
    "spark.sql.execution.usePartitionEvaluator": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}
# Plans carry what clients prove themselves with from the driver to executors. YARN and Kubernetes
# hand out a secret for each application; a cluster of Spark's own has one in its own configuration.
GUARDED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
# With spark-submit these are said on its own command line.
OF_THE_SUBMITTER = {
    "spark.master",
    "spark.submit.deployMode",
    "spark.driver.memory",
    "spark.driver.extraClassPath",
    "spark.driver.extraJavaOptions",
    "spark.jars",
    "spark.hadoop.fs.AbstractFileSystem.file.impl",  # our class is not on the JVM's own path
}
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """What may differ between one session and the next; the rest is fixed above."""

    name: str = "ottla"
    master: str = LOCAL_MASTER
    parallelism: int = 2  # shuffle partitions, and so state partitions
    ui: bool = False
    memory: str = "1g"
    log: Path | None = None  # where Spark's output goes; None: a temporary file
    extra: Mapping[str, str] = field(default_factory=dict)


def configuration(settings: SparkSettings) -> dict[str, str]:
    """Every setting of the session. Pure but for the jars' paths."""
    jars = [str(path) for path in (*connector_jars(), compiled_jar())]
    chosen = dict(STREAMING) | {
        "spark.app.name": settings.name,
        "spark.master": settings.master,
        "spark.submit.deployMode": "client",
        "spark.driver.memory": settings.memory,
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.driver.extraJavaOptions": java_options(),
        "spark.sql.shuffle.partitions": str(settings.parallelism),
        "spark.default.parallelism": str(settings.parallelism),
        "spark.ui.enabled": str(settings.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        # Spark takes a buffer of this size for each of a batch's broadcasts, of which few need more
        # than a tenth of it. Its 4 MiB are humongous for the collector, each a reason to collect.
        "spark.broadcast.blockSize": "256k",
        # A row waits for so long for others to pass the shuffle with it; 50 ms if nothing is said.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "ottla-warehouse"),
    }
    if is_local(settings.master):
        chosen["spark.python.daemon.module"] = "ottla.pipelines.runtime.daemon"
        chosen["spark.hadoop.fs.AbstractFileSystem.file.impl"] = "ottla.LocalFiles"
    else:
        chosen["spark.jars"] = ",".join(jars)
    if settings.master == "yarn" or settings.master.startswith("k8s://"):
        chosen |= GUARDED
    return chosen | dict(settings.extra)


def java_options() -> str:
    """JVM flags: quiet logging, and the class-data archive once there is one."""
    settings = cache_folder() / "log4j2.properties"
    if not settings.exists() or settings.read_text() != LOGGING:
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(LOGGING)
    # Spark's pages of 1 MiB would be humongous in a small heap's regions, each a reason to collect.
    options = [f"-Dlog4j2.configurationFile={settings.as_uri()}", "-XX:G1HeapRegionSize=8m"]
    if making := os.environ.get("OTTLA_MAKE_ARCHIVE"):
        options.append(f"-XX:ArchiveClassesAtExit={making}")
    elif (archive := archive_path()).exists():
        options += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    return " ".join(options)


def archive_path() -> Path:
    """The archive belongs to one Java and one class path: a JVM with another of either ignores it.

    A class path is told by where Spark is installed, when, and what is compiled for it.
    """
    installed = Path(installed_spark(), "jars").stat().st_mtime_ns
    release = hashlib.sha256(f"{tag()} {installed}".encode()).hexdigest()[:12]
    return cache_folder() / f"{_archives()}{spark_home().name}-{release}.jsa"


def outdated_archives() -> list[Path]:
    """Those of this Java that nobody can use: of an earlier release, or of a Spark that is gone."""
    own = archive_path()
    return [
        path
        for path in own.parent.glob(f"{_archives()}*.jsa")
        if path != own and not _is_of_another_spark(path)
    ]


def _is_of_another_spark(archive: Path) -> bool:
    home = archive.parent / archive.stem.removeprefix(_archives()).rpartition("-")[0]
    return home != spark_home() and (home / "jars").exists()


def _archives() -> str:
    """How the names of one Java's archives begin."""
    return f"classes-{_java()}-"


def _java() -> str:
    return find_java().name.replace(" ", "_")


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")
