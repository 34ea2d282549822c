"""Where files go: each is there as a whole, or not at all. Picklable."""

import posixpath
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from ottla.connect.connector import ConnectError, RetriableError

ANSWER_S = 10.0


class Store(Protocol):
    def check(self) -> None:
        """ConnectError where the store cannot be reached, or has no such place."""

    def put(self, path: str, data: bytes) -> None:
        """In place of what was there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Store:
    """A bucket; an object appears when all of it has arrived."""

    bucket: str
    region: str | None = None
    endpoint: str | None = None  # of another store with this interface
    access_key: str | None = None  # None: as AWS's tools find them
    secret_key: str | None = field(default=None, repr=False)

    def check(self) -> None:
        import pyarrow.fs

        try:
            found = self._filesystem().get_file_info(self.bucket)
        except OSError as error:
            raise ConnectError(f"The bucket {self.bucket} cannot be reached: {error}") from error
        if found.type is pyarrow.fs.FileType.NotFound:
            raise ConnectError(f"The bucket {self.bucket} does not exist")

    def put(self, path: str, data: bytes) -> None:
        try:
            with _known(self, self._filesystem).open_output_stream(f"{self.bucket}/{path}") as out:
                out.write(data)
        except OSError as error:
            raise RetriableError(f"{path} cannot be written to {self.bucket}: {error}") from error

    def _filesystem(self) -> Any:
        from pyarrow.fs import S3FileSystem

        where: dict[str, Any] = {}
        if self.endpoint is not None:
            scheme, _, host = self.endpoint.rpartition("://")
            where = {"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"}
        return S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            region=self.region,
            connect_timeout=10,
            request_timeout=60,
            **where,
        )


@dataclass(frozen=True, slots=True)
class HdfsStore:
    """A name node; a file is written beside its place, then moved there."""

    url: str

    def check(self) -> None:
        try:
            self._reach()
            self._client().get_file_info("/")
        except Exception as error:
            raise ConnectError(f"{self.url} cannot be reached: {error}") from error

    def put(self, path: str, data: bytes) -> None:
        from hdfs_native import WriteOptions

        place = posixpath.join("/", path)
        folder, name = posixpath.split(place)
        unfinished = posixpath.join(folder, f"_{name}.tmp")
        try:
            self._reach()
            client = _known(self, self._client)
            client.mkdirs(folder, create_parent=True)
            with client.create(unfinished, WriteOptions(overwrite=True)) as out:
                out.write(data)
            client.rename(unfinished, place, overwrite=True)
        except Exception as error:
            _clients.pop(self, None)
            raise RetriableError(f"{path} cannot be written to {self.url}: {error}") from error

    def _client(self) -> Any:
        from hdfs_native import Client

        return Client(self.url)

    def _reach(self) -> None:
        """The client itself would wait for ever for a name node that is away."""
        place = urlsplit(self.url)
        if place.hostname and place.port:  # else a name service, of several name nodes
            socket.create_connection((place.hostname, place.port), ANSWER_S).close()


# Of this process: a store's connections are used for file after file.
_clients: dict[Store, Any] = {}


def _known(store: Store, make: Callable[[], Any]) -> Any:
    found = _clients.get(store)
    if found is None:
        found = _clients[store] = make()
    return found
