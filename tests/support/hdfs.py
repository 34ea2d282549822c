"""An HDFS of one name node and one data node, on the loopback.

Its jars are those of Hadoop that come with PySpark, and one that has the servers.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.ports.network import free_ports
from support.brokers import die_with_parent
from support.jars import hadoop_server_libraries

START_S = 120.0
_SERVERS = "org.apache.hadoop.hdfs.server"
_PROPERTY = "<property><name>{}</name><value>{}</value></property>"


class Hdfs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, http, data, data_http, data_ipc = free_ports(5)
        self._settings = {
            "fs.defaultFS": self.url,
            "dfs.replication": "1",
            "dfs.namenode.name.dir": f"file://{folder}/name",
            "dfs.datanode.data.dir": f"file://{folder}/data",
            "dfs.namenode.http-address": f"127.0.0.1:{http}",
            "dfs.datanode.address": f"127.0.0.1:{data}",
            "dfs.datanode.http.address": f"127.0.0.1:{data_http}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{data_ipc}",
            "dfs.permissions.enabled": "false",
            "dfs.namenode.safemode.extension": "0",
            "hadoop.tmp.dir": f"{folder}/tmp",
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def start(self) -> None:
        whole = "".join(_PROPERTY.format(*one) for one in self._settings.items())
        for name in ("core-site.xml", "hdfs-site.xml"):
            (self.folder / name).write_text(f"<configuration>{whole}</configuration>")
        if not (self.folder / "name").exists():
            subprocess.run(self._command("namenode.NameNode", "-format", "-force"), check=True)
        self.start_name_node()
        self._start("datanode.DataNode")

    def start_name_node(self) -> None:
        self._start("namenode.NameNode")

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def wait_until_writable(self) -> None:
        from hdfs_native import Client, WriteOptions

        deadline = time.monotonic() + START_S
        while True:
            try:
                with Client(self.url).create("/probe", WriteOptions(overwrite=True)) as out:
                    out.write(b"1")
                return
            except Exception:  # of whatever kind: it is told by its text alone
                ended = [one for one, process in self.processes.items() if process.poll()]
                if ended or time.monotonic() > deadline:
                    raise AssertionError(f"HDFS does not serve: {self.log[-3000:]}") from None
                time.sleep(0.3)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _start(self, name: str) -> None:
        with (self.folder / "log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self._command(name),
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=die_with_parent,
            )

    def _command(self, name: str, *more: str) -> list[str]:
        import pyspark

        jars = Path(pyspark.__file__).parent / "jars"
        path = os.pathsep.join([str(self.folder), f"{hadoop_server_libraries()}/*", f"{jars}/*"])
        return [
            "java",
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            path,
            f"{_SERVERS}.{name}",
            *more,
        ]


@contextmanager
def running_hdfs(folder: Path) -> Iterator[Hdfs]:
    hdfs = Hdfs(folder)
    try:
        hdfs.start()
        hdfs.wait_until_writable()
        yield hdfs
    finally:
        hdfs.stop()
        shutil.rmtree(folder, ignore_errors=True)
