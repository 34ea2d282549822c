"""TimestampRouter: another topic, made of the topic and the record's time."""

from dataclasses import replace

from ottla.connect.data import DataError, Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.java_dates import DateFormat
from ottla.connect.logical import timestamp_of
from ottla.connect.transforms.transform import Settings

DEFINITIONS = Definitions(
    (
        Key(
            name="topic.format",
            kind=Kind.STRING,
            default="${topic}-${timestamp}",
            importance="HIGH",
            doc="The new topic, with ${topic} and ${timestamp} in it.",
        ),
        Key(
            name="timestamp.format",
            kind=Kind.STRING,
            default="yyyyMMdd",
            importance="HIGH",
            doc="How the time is written, as Java's SimpleDateFormat has it.",
        ),
    )
)


class TimestampRouter:
    def __init__(self, settings: Settings) -> None:
        self._topic: str = settings["topic.format"]
        self._format = DateFormat.of("timestamp.format", settings["timestamp.format"])

    def apply(self, record: Record) -> Record:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {record}")
        at = self._format.written(timestamp_of(record.timestamp))
        topic = self._topic.replace("${topic}", record.topic).replace("${timestamp}", at)
        return replace(record, topic=topic)
