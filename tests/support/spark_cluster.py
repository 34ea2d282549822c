"""A standalone Spark cluster, made of the PySpark package itself."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ottla.pipelines.runtime.java import find_java
from support.homes import free_port


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 1) -> Iterator[str]:
    """A master and its workers, started from the PySpark package itself."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(find_java()),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    deploy = "org.apache.spark.deploy"
    program = [str(home / "bin" / "spark-class")]
    address = f"spark://127.0.0.1:{port}"
    commands = [
        [
            f"{deploy}.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            "0",
        ],
        *(
            [f"{deploy}.worker.Worker", "-c", "2", "-m", "1500M", "--webui-port", "0", address]
            for _ in range(workers)
        ),
    ]
    with (folder / "cluster.log").open("ab") as log, contextlib.ExitStack() as running:
        for command in commands:
            process = subprocess.Popen(program + command, env=environment, stdout=log, stderr=log)
            running.callback(process.wait, 30)
            running.callback(process.terminate)
            until = time.monotonic() + 60
            while command is commands[0] and not _listens(port):
                assert time.monotonic() < until, "the master did not start"
                time.sleep(0.2)
        yield address


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
