"""The only place that makes a SparkSession, and the archive that halves its start.

Spark's own output goes to a file, so that the terminal belongs to the application. Everything a
query relies on (state store, checkpoint format, fixed partitioning) is set here, once.
"""

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ottla.errors import OttlaError
from ottla.pipelines.runtime.compiled import compiled_jar, tag
from ottla.pipelines.runtime.jars import cache_folder, connector_jars
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.where import PACKAGE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Real-time queries hold a slot per source partition and per shuffle partition for as long as they
# run, so slots are many and cores few. The 4 is the number of attempts of a task: plain local[N]
# never retries.
LOCAL_MASTER = "local[128,4]"
ARCHIVE_TAKES_AT_MOST_S = 600
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_current: "SparkSession | None" = None
_lent = False  # whether somebody else has made it
_making = threading.Lock()
_shipped: set[tuple[str | None, Path]] = set()  # by application of Spark's

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
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}
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


def session(settings: SparkSettings | None = None) -> "SparkSession":
    """The process's session: made at the first call, returned as it is afterwards."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise OttlaError(
            "Pipelines need PySpark: install it with pip install 'ottla[pipelines]'."
        ) from error
    global _current, _lent
    # Spark's own notion of the active session is one per thread, ours is one per process.
    with _making:
        fresh = _current is None
        if _current is None:
            found = SparkSession._instantiatedSession
            if found is not None and not found.sparkContext._jsc.sc().isStopped():
                _current, _lent = found, True
                _equip(found)
            else:
                _current, _lent = _make(settings or SparkSettings()), False
        if _lent:
            _see_jars(_current)
        if fresh:
            _register(_current)
            _quieten()
        return _current


def _register(spark: "SparkSession") -> None:
    """Make our functions known to a session that has our classes."""
    jvm: Any = spark._jvm
    for functions in (jvm.ottla.RowCodec, jvm.ottla.JsonText):
        functions.register(spark._jsparkSession)


def _quieten() -> None:
    """Spark's errors come to us as exceptions; PySpark would print each as JSON besides."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def spark_session(
    name: str = "ottla",
    *,
    master: str | None = None,
    memory: str = "1g",
    parallelism: int = 2,
    ui: bool = True,
    conf: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session to begin a notebook with: Ottla's jars and settings, and any of your own."""
    chosen = master or os.environ.get("OTTLA_MASTER") or LOCAL_MASTER
    return session(
        SparkSettings(
            name=name,
            master=chosen,
            parallelism=parallelism,
            ui=ui,
            memory=memory,
            extra=conf or {},
        )
    )


def stop() -> None:
    """End the session and its JVM. Safe to call when there is none, or when it is another's."""
    from pyspark import SparkContext

    global _current
    if _lent:
        _current = None
        return
    if _current is not None:
        _current.stop()
        _current = None
    gateway = SparkContext._gateway
    if gateway is not None:
        process = getattr(gateway, "proc", None)
        gateway.shutdown()
        SparkContext._gateway = None
        SparkContext._jvm = None
        _end(process)


def _equip(spark: "SparkSession") -> None:
    """Give a session that somebody else has made what queries rely on."""
    for name, value in STREAMING.items():
        spark.conf.set(name, value)
    loader: Any = spark._jsparkSession.sessionState().resourceLoader()
    for jar in (*connector_jars(), compiled_jar()):
        loader.addJar(str(jar))
    if not _is_local(spark.sparkContext.master or ""):
        spark.sparkContext.addPyFile(str(package_archive()))
    elif "PYSPARK_PYTHON" not in os.environ:
        # Else workers are the first python3 of the path, which may lack all that this one has.
        spark.sparkContext.pythonExec = sys.executable
    _see_jars(spark)
    try:
        for name in ("ottla.ExactlyOnceSink", "org.apache.spark.sql.kafka010.KafkaSourceProvider"):
            _loader(spark).loadClass(name)
    except Exception as error:
        raise OttlaError(
            "This Spark session lacks Ottla's jars, and they cannot be added to it: make it with "
            "spark = ottla.spark_session(), before anything else has made one."
        ) from error


def _loader(spark: "SparkSession") -> Any:
    return spark._jsparkSession.sharedState().jarClassLoader()


def _see_jars(spark: "SparkSession") -> None:
    """Jars that were added later are seen by threads that look for them there."""
    jvm: Any = spark._jvm
    jvm.java.lang.Thread.currentThread().setContextClassLoader(_loader(spark))


def kill() -> None:
    """End the JVM at once, whatever it does."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def ui_address(spark: "SparkSession") -> str | None:
    address: str | None = spark.sparkContext.uiWebUrl
    return address


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()  # the gateway ends when its input does
    try:
        process.wait(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()


def _make(settings: SparkSettings) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(spark_home()))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if _is_local(settings.master) else "")
    if not os.environ["SPARK_LOCAL_IP"]:
        del os.environ["SPARK_LOCAL_IP"]
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM
    conf = SparkConf(loadDefaults=submitted)
    for name, value in configuration(settings).items():
        if not (submitted and name in OF_THE_SUBMITTER):
            conf.set(name, value)
    log = _open_log(settings.log)
    try:
        # A session of its own: Ctrl-C is for this process, which ends the JVM when it is done.
        output = {"stdout": log, "stderr": log, "start_new_session": True}
        gateway = launch_gateway(conf, popen_kwargs=output)  # type: ignore[no-untyped-call]
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        raise OttlaError(f"Spark did not start; its output is in {log.name}.") from error
    if not submitted and not _is_local(settings.master):
        context.addPyFile(str(package_archive()))
    # Spark's end closes this server's connection in the middle, which would print a traceback.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    atexit.register(_stop_quietly)
    made = SparkSession(context)
    if submitted:
        _equip(made)
    return made


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
        # A row waits for so long for others to pass the shuffle with it; 50 ms if nothing is said.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "ottla-warehouse"),
    }
    if _is_local(settings.master):
        chosen["spark.python.daemon.module"] = "ottla.pipelines.runtime.daemon"
        chosen["spark.hadoop.fs.AbstractFileSystem.file.impl"] = "ottla.LocalFiles"
    else:
        chosen["spark.jars"] = ",".join(jars)
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
    """The archive belongs to one Java and one class path: another of either ignores it."""
    java = find_java().name.replace(" ", "_")
    return cache_folder() / f"classes-{tag()}-{java}.jsa"


def make_archive_in_background() -> "subprocess.Popen[bytes] | None":
    """Start making the class-data archive, once, at the lowest priority; None when it is there."""
    target = archive_path()
    lock = target.with_suffix(".making")
    if target.exists() or not hasattr(os, "nice"):
        return None
    with contextlib.suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > ARCHIVE_TAKES_AT_MOST_S:
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


def spark_home() -> Path:
    """PySpark's folder without its zip of sources, which workers would compile at every start.

    Without the zip they import the installed package, whose bytecode is there already: a quarter
    of the processor time of a worker's start.
    """
    import pyspark

    installed = Path(pyspark.__file__).parent
    tag = hashlib.sha256(str(installed).encode()).hexdigest()[:8]
    home = cache_folder() / f"spark-{pyspark.__version__}-{tag}"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "sbin"):
        with contextlib.suppress(FileExistsError):
            (home / name).symlink_to(installed / name)
    return home


def ship_modules(spark: "SparkSession", folder: Path) -> None:
    """Let Python workers import what lies beside the application: its modules and packages."""
    context = spark.sparkContext
    if (context.applicationId, folder) in _shipped or not folder.is_dir():
        return
    _shipped.add((context.applicationId, folder))
    modules = sorted(folder.glob("*.py"))
    for package in sorted(folder.glob("*/__init__.py")):
        modules += sorted(package.parent.rglob("*.py"))
    # Named after its content: Spark keeps one file of a name.
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()[:12]
    archive = Path(tempfile.mkdtemp(prefix="ottla-modules-")) / f"modules-{digest}.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in modules:
            target.write(path, path.relative_to(folder))
    context.addPyFile(str(archive))
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)


def package_archive() -> Path:
    """This package as a zip, so that the executors of a cluster need no installation of it."""
    package = Path(PACKAGE)
    target = Path(tempfile.mkdtemp(prefix="ottla-package-")) / "ottla"
    return Path(shutil.make_archive(str(target), "zip", package.parent, package.name))


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _open_log(path: Path | None) -> IO[Any]:
    if path is None:
        path = Path(tempfile.gettempdir()) / f"ottla-spark-{os.getpid()}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def _stop_quietly() -> None:
    with contextlib.suppress(Exception):
        stop()
