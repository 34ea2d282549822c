"""Where checkpoints lie: a folder of this machine, or any file system that Hadoop knows.

A few small files of ours stand beside Spark's: both are reached by the same location, whether it is
a path, `file:`, `hdfs://` or `s3a://`.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ottla.errors import OttlaError
from ottla.pipelines.runtime.s3 import reach_s3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OBJECT_STORES = {"s3a", "gs", "oss", "cosn"}
SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):(?P<rest>.*)")


class StorageError(OttlaError):
    """A store does not answer, or refuses: it may serve again later."""


def state_folder() -> Path:
    """`$OTTLA_STATE`, else the user's folder for state."""
    if chosen := os.environ.get("OTTLA_STATE"):
        return Path(chosen)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "ottla"


class Storage(Protocol):
    """Names are relative, with slashes."""

    def location(self, name: str) -> str: ...

    def path(self, name: str) -> "Path | HadoopPath": ...

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def list(self, name: str) -> list[str]: ...

    def remove(self, name: str) -> None: ...


class LocalStorage:
    def __init__(self, root: Path) -> None:
        self.root = root

    def location(self, name: str) -> str:
        return str(self.root / name)

    def path(self, name: str) -> Path:
        return self.root / name

    def read(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.is_file() else None

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text)
        partial.replace(path)  # whole or not at all

    def list(self, name: str) -> list[str]:
        folder = self.root / name
        return sorted(at.name for at in folder.iterdir()) if folder.is_dir() else []

    def remove(self, name: str) -> None:
        path = self.root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class HadoopStorage:
    """Through Spark's own file systems, with whatever it was configured with."""

    def __init__(self, spark: "SparkSession", root: str) -> None:
        self.root = root.rstrip("/")
        self._jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._conf = spark._jsc.hadoopConfiguration()
        if self.root.startswith("s3a:"):
            reach_s3(spark)
        try:
            self._files = self._path("").getFileSystem(self._conf)
        except Exception as error:
            raise OttlaError(f"Spark knows no file system for {root}: {_first(error)}") from error
        self.keeps_objects = str(self._files.getScheme()) in OBJECT_STORES

    def location(self, name: str) -> str:
        return f"{self.root}/{name}"

    def read(self, name: str) -> str | None:
        path = self._path(name)
        with self._told():
            if not self._files.exists(path):
                return None
            stream = self._files.open(path)
            try:
                data: bytes = self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
            finally:
                stream.close()
        return bytes(data).decode()

    def write(self, name: str, text: str) -> None:
        """Whole or not at all: who is killed meanwhile finds what was there before."""
        target = self._path(name)
        # An object is there when it is whole; a rename would copy it, and delete the old one first.
        beside = target if self.keeps_objects else self._path(f"{name}.partial")
        with self._told():
            stream = self._files.create(beside, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            if beside is not target:
                self._replace(beside, target)

    def _replace(self, beside: Any, target: Any) -> None:
        """Only this of Hadoop's two interfaces to a file system renames over what is there."""
        fs = self._jvm.org.apache.hadoop.fs
        kind = getattr(fs, "Options$Rename")
        over = self._gateway.new_array(kind, 1)
        over[0] = kind.OVERWRITE
        fs.FileContext.getFileContext(target.toUri(), self._conf).rename(beside, target, over)

    def list(self, name: str) -> list[str]:
        path = self._path(name)
        with self._told():
            if not self._files.exists(path):
                return []
            return sorted(at.getPath().getName() for at in self._files.listStatus(path))

    def exists(self, name: str) -> bool:
        with self._told():
            return bool(self._files.exists(self._path(name)))

    def path(self, name: str) -> "HadoopPath":
        return HadoopPath(self, name)

    def remove(self, name: str) -> None:
        with self._told():
            self._files.delete(self._path(name), True)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What the file system refuses is a sentence."""
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            said = " ".join(str(error.java_exception).split())
            raise StorageError(f"{self.root} does not serve its checkpoints: {said}") from error

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)


class HadoopPath:
    """A place in a storage, with as much of `pathlib.Path` as checkpoints need."""

    def __init__(self, storage: HadoopStorage, name: str) -> None:
        self._storage = storage
        self._name = name.strip("/")

    @property
    def is_object(self) -> bool:
        return self._storage.keeps_objects

    @property
    def name(self) -> str:
        return self._name.rsplit("/", 1)[-1]

    def __truediv__(self, name: str) -> "HadoopPath":
        return HadoopPath(self._storage, f"{self._name}/{name}")

    def with_name(self, name: str) -> "HadoopPath":
        folder, _, _ = self._name.rpartition("/")
        return HadoopPath(self._storage, f"{folder}/{name}")

    def __str__(self) -> str:
        return self._storage.location(self._name)

    def exists(self) -> bool:
        return self._storage.exists(self._name)

    def read_text(self) -> str:
        text = self._storage.read(self._name)
        if text is None:
            raise FileNotFoundError(str(self))
        return text

    def write_text(self, text: str) -> None:
        self._storage.write(self._name, text)

    def touch(self) -> None:
        self.write_text("")

    def unlink(self) -> None:
        self._storage.remove(self._name)

    def mkdir(self, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Folders come with what is written into them."""


def open_storage(location: str | Path, spark: "Callable[[], SparkSession]") -> Storage:
    """The storage at a location; Spark is started only for what is not a folder here."""
    found = SCHEME.fullmatch(str(location))
    if found is None:
        return LocalStorage(Path(location))
    if found["scheme"] == "file":
        return LocalStorage(Path("/" + found["rest"].lstrip("/")))
    return HadoopStorage(spark(), str(location))


def _first(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
