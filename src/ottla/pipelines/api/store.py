"""Reading a table from its topic: interactive queries, and `ottla table get`."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ottla.client.connection import ClientProperties, Connection, given_connection
from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import changelog_topic

if TYPE_CHECKING:
    import pandas

    from ottla.pipelines.lifecycle.pictures import LiveFrame

TIMEOUT_S = 15.0


class TableView(Mapping[str, Any]):
    """A table as a dictionary from key to latest value, as of the last `refresh()`.

    `table` is a name given with `named()`, or the topic of a table. Values that are JSON are
    decoded, other values are text.
    """

    def __init__(
        self,
        app: str,
        table: str,
        *,
        bootstrap: str | None = None,
        client: ClientProperties | None = None,
        connection: Connection | None = None,
    ) -> None:
        from confluent_kafka import KafkaException

        reached = connection or given_connection(bootstrap, client or {}, "client=")
        self._consumer = reached.consumer(
            {
                "group.id": f"{app}-table-view",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # Retention may have taken the first offsets, where reading begins.
                "auto.offset.reset": "earliest",
            }
        )
        self._rows: dict[str, Any] = {}
        self._turn = threading.Lock()
        try:
            topics = self._consumer.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as error:
            raise OttlaError(f"No broker answers at {reached.bootstrap}.") from error
        named = changelog_topic(app, table)
        self.topic = named if named in topics else table
        if self.topic not in topics:
            raise OttlaError(f"{app} has no table {table}: there is neither {named} nor {table}.")
        self._next = dict.fromkeys(topics[self.topic].partitions, 0)
        self.refresh()

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as of the last `refresh()`: a row for each key, which is the index."""
        import pandas

        rows = {key: _fields(value) for key, value in sorted(self._rows.items())}
        return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("key")

    def live(self, every_s: float = 1.0) -> "LiveFrame":
        """Show the table in a notebook, where it renews itself until `stop()`."""
        from ottla.pipelines.lifecycle.pictures import LiveFrame

        return LiveFrame(self, every_s).start()

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(max_rows=60))

    def refresh(self) -> None:
        """Take in what has been written since."""
        with self._turn:  # a picture that renews itself asks from a thread of its own
            self._refresh()

    def _refresh(self) -> None:
        from confluent_kafka import KafkaError, TopicPartition

        self._consumer.assign([TopicPartition(self.topic, p, o) for p, o in self._next.items()])
        open_partitions = set(self._next)
        while open_partitions:
            message = self._consumer.poll(TIMEOUT_S)
            if message is None:
                raise OttlaError(f"The broker stopped answering while {self.topic} was read.")
            partition = message.partition()
            if (error := message.error()) is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise OttlaError(f"{self.topic} cannot be read: {error}")
                open_partitions.discard(partition)
                continue
            self._next[partition] = (message.offset() or 0) + 1
            self._take(_text(message.key()) or "", message.value())

    def close(self) -> None:
        self._consumer.close()

    def _take(self, key: str, value: Any) -> None:
        if value is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = _decoded(value)

    def __getitem__(self, key: str) -> Any:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}


def _text(data: Any) -> str | None:
    return data.decode(errors="replace") if isinstance(data, bytes) else data


def _decoded(data: bytes) -> Any:
    text = _text(data) or ""
    if text[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return text
