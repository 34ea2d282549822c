"""Our own classes for the JVM (`jvm/*.java`): compiled once, kept beside the connector's jars.

Three things cannot be done well from Python: producers that outlive a task, state that every row of
a join meets, and local files without a process for each. Spark brings a compiler with it (Janino,
which it compiles queries with), so Java's runtime is enough and nothing is fetched. Janino knows
neither type arguments nor lambdas; each file knows but those before it.
"""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.runtime.jars import cache_folder, connector_jars
from ottla.pipelines.runtime.java import find_java

SOURCES = Path(__file__).parent / "jvm"
SHARED = (
    "SchemaRegistry.java",
    "ProtobufMessages.java",
    "JsonText.java",
    "JsonRules.java",
)  # others use them: compiled first


def tag() -> str:
    """Names what is compiled: other sources or another Spark are another jar."""
    import pyspark

    digest = hashlib.sha256(pyspark.__version__.encode())
    for source in _sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def compiled_jar() -> Path:
    """Path of the jar; compiles it first when the cache lacks it."""
    target = cache_folder() / "jars" / f"ottla-pipelines-{tag()}.jar"
    if not target.exists():
        classes = _compile(_sources(), connector_jars())
        partial = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(partial, "w") as jar:
            for name, code in sorted(classes.items()):
                jar.writestr(f"{name.replace('.', '/')}.class", code)
        partial.replace(target)  # atomic, so two first runs at once cannot leave half a jar
    return target


def _sources() -> list[Path]:
    found = sorted(SOURCES.glob("*.java"))
    first = [SOURCES / name for name in SHARED]
    return first + [source for source in found if source not in first]


def _compile(sources: Iterable[Path], jars: Iterable[Path]) -> Mapping[str, bytes]:
    """The classes by name, from a JVM that is started for this alone."""
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False)
    conf.set("spark.driver.extraClassPath", os.pathsep.join(map(str, jars)))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway: Any = launch_gateway(conf, popen_kwargs=quiet)  # type: ignore[no-untyped-call]
    try:
        loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        classes: dict[str, bytes] = {}
        for source in sources:
            compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(loader)
            compiler.cook(source.name, source.read_text())
            loader = compiler.getClassLoader()
            codes = compiler.getBytecodes()
            classes |= {name: bytes(codes[name]) for name in codes}
        return classes
    except Py4JJavaError as error:
        raise OttlaError(f"Spark's compiler refuses our classes: {error.java_exception}") from error
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM ends when its input does
        gateway.proc.wait(timeout=40)
