"""The only place that makes a SparkSession. What is set in it is `settings`' affair.

Spark's own output goes to a file, so that the terminal belongs to the application.
"""

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ottla.errors import OttlaError
from ottla.pipelines.runtime.compiled import compiled_jar
from ottla.pipelines.runtime.jars import connector_jars
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.settings import (
    LOCAL_MASTER,
    OF_THE_SUBMITTER,
    STREAMING,
    SparkSettings,
    configuration,
    is_local,
)
from ottla.pipelines.runtime.shipping import package_archive
from ottla.pipelines.runtime.spark_home import spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_current: "SparkSession | None" = None
_lent = False  # whether somebody else has made it
_making = threading.Lock()


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


def stop(within_s: float = 40.0) -> None:
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
        _end(process, within_s)


def is_alive() -> bool:
    """Whether the session's JVM is there; True while there is none to be dead."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def forget() -> None:
    """Let go of a session whose JVM has died: the next one that is asked for is made anew."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    global _current
    with _making:
        gateway, context = SparkContext._gateway, SparkContext._active_spark_context
        if context is not None and context._accumulatorServer is not None:
            context._accumulatorServer.shutdown()
        if gateway is not None:
            gateway.shutdown()
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        _current = None


def _equip(spark: "SparkSession") -> None:
    """Give a session that somebody else has made what queries rely on."""
    for name, value in STREAMING.items():
        spark.conf.set(name, value)
    loader: Any = spark._jsparkSession.sessionState().resourceLoader()
    for jar in (*connector_jars(), compiled_jar()):
        loader.addJar(str(jar))
    if not is_local(spark.sparkContext.master or ""):
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


def jvm_pid() -> int:
    """Of the session's JVM, which this process has started."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return int(gateway.proc.pid)


def kill() -> None:
    """End the JVM at once, whatever it does."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def ui_address(spark: "SparkSession") -> str | None:
    address: str | None = spark.sparkContext.uiWebUrl
    return address


def _end(process: "subprocess.Popen[bytes] | None", within_s: float) -> None:
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()  # the gateway ends when its input does
    try:
        process.wait(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.kill()


def _make(settings: SparkSettings) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(spark_home()))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if is_local(settings.master) else "")
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
    if not submitted and not is_local(settings.master):
        context.addPyFile(str(package_archive()))
    # Spark's end closes this server's connection in the middle, which would print a traceback.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    atexit.register(_stop_quietly)
    made = SparkSession(context)
    if submitted:
        _equip(made)
    return made


def _open_log(path: Path | None) -> IO[Any]:
    if path is None:
        path = Path(tempfile.gettempdir()) / f"ottla-spark-{os.getpid()}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def _stop_quietly() -> None:
    with contextlib.suppress(Exception):
        stop()
