"""The keys that s3-sink and hdfs-sink share, with Confluent's names. Pure."""

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind, invalid
from ottla.connect.validators import at_least, non_empty, one_of

PARTITIONERS: Final = (
    "DefaultPartitioner",
    "FieldPartitioner",
    "TimeBasedPartitioner",
    "DailyPartitioner",
    "HourlyPartitioner",
)
_FORMATS: Final = ("JsonFormat", "AvroFormat", "ParquetFormat", "ByteArrayFormat")


def last_part(said: str) -> str:
    """Of a class's name: Confluent has the same ones in several packages."""
    return said.rpartition(".")[2]


def _class_among(known: tuple[str, ...]) -> Any:
    def check(name: str, value: Any) -> None:
        if value is not None and last_part(value) not in known:
            raise invalid(
                name, value, f"Class {value} is not served; these are: {', '.join(known)}"
            )

    return check


def _zone(name: str, value: Any) -> None:
    if value:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError):
            raise invalid(name, value, "The time zone is not known") from None


def _only(word: Any, why: str) -> Any:
    def check(name: str, value: Any) -> None:
        if value != word:
            raise invalid(name, value, why)

    return check


def _key(name: str, kind: Kind, default: Any, doc: str, group: str, **more: Any) -> Key:
    return Key(name=name, kind=kind, default=default, doc=doc, group=group, **more)


_STORAGE, _PARTITIONER, _CONNECTOR = "Storage", "Partitioner", "Connector"
SHARED: Final = Definitions(
    (
        Key(
            name="flush.size",
            kind=Kind.INT,
            importance="HIGH",
            doc="How many records of a partition are written, before its files end.",
            group=_CONNECTOR,
            validator=at_least(1),
        ),
        Key(
            name="format.class",
            kind=Kind.CLASS,
            importance="HIGH",
            doc="JsonFormat, AvroFormat, ParquetFormat or ByteArrayFormat, in any package.",
            group=_CONNECTOR,
            validator=_class_among(_FORMATS),
        ),
        _key(
            "rotate.interval.ms",
            Kind.LONG,
            -1,
            "How many milliseconds of the records' own time a file spans at most; -1: any.",
            _CONNECTOR,
        ),
        _key(
            "rotate.schedule.interval.ms",
            Kind.LONG,
            -1,
            "Not served: files that the clock ends would differ when they are written again.",
            _CONNECTOR,
            validator=_only(-1, "Files end by offsets and record time, never by the clock"),
        ),
        _key(
            "schema.compatibility",
            Kind.STRING,
            "NONE",
            "NONE: a file ends where the schema changes.",
            _CONNECTOR,
            validator=one_of("NONE"),
        ),
        _key(
            "topics.dir",
            Kind.STRING,
            "topics",
            "The folder above all topics.",
            _STORAGE,
            validator=non_empty,
        ),
        _key("directory.delim", Kind.STRING, "/", "What stands between folders.", _STORAGE),
        _key(
            "file.delim",
            Kind.STRING,
            "+",
            "What stands between the parts of a file's name.",
            _STORAGE,
        ),
        _key(
            "filename.offset.zero.pad.width",
            Kind.INT,
            10,
            "How many digits an offset in a file's name has at least.",
            _STORAGE,
            validator=at_least(0),
        ),
        _key(
            "store.url",
            Kind.STRING,
            None,
            "The store's address, where it is not the usual one.",
            _STORAGE,
        ),
        _key(
            "avro.codec",
            Kind.STRING,
            "null",
            "How Avro's blocks are compressed.",
            _STORAGE,
            validator=one_of("null", "deflate", "snappy", "bzip2"),
        ),
        _key(
            "parquet.codec",
            Kind.STRING,
            "snappy",
            "How Parquet's pages are compressed.",
            _STORAGE,
            validator=one_of("none", "gzip", "snappy", "lz4", "brotli", "zstd"),
        ),
        _key(
            "json.decimal.format",
            Kind.STRING,
            "BASE64",
            "How decimals are written in JSON: BASE64 or NUMERIC.",
            _STORAGE,
            validator=one_of("BASE64", "NUMERIC", any_case=True),
        ),
        _key(
            "format.bytearray.extension",
            Kind.STRING,
            ".bin",
            "How files of bytes are named.",
            _STORAGE,
        ),
        _key(
            "format.bytearray.separator",
            Kind.STRING,
            None,
            "What stands behind each record's bytes; a line feed if unset.",
            _STORAGE,
        ),
        _key(
            "behavior.on.null.values",
            Kind.STRING,
            "fail",
            "What becomes of a record without a value: fail or ignore.",
            _CONNECTOR,
            validator=one_of("fail", "ignore", any_case=True),
        ),
        _key(
            "partitioner.class",
            Kind.CLASS,
            "DefaultPartitioner",
            f"Which folder a record belongs in: {', '.join(PARTITIONERS)}.",
            _PARTITIONER,
            validator=_class_among(PARTITIONERS),
        ),
        _key(
            "partition.field.name", Kind.LIST, [], "The fields of FieldPartitioner.", _PARTITIONER
        ),
        _key("partition.duration.ms", Kind.LONG, -1, "How long a folder of time is.", _PARTITIONER),
        _key("path.format", Kind.STRING, "", "How a folder of time is written.", _PARTITIONER),
        _key("locale", Kind.STRING, "", "English; others are not served.", _PARTITIONER),
        _key(
            "timezone",
            Kind.STRING,
            "",
            "The zone of folders of time.",
            _PARTITIONER,
            validator=_zone,
        ),
        _key(
            "timestamp.extractor",
            Kind.STRING,
            "Record",
            "The time of a record: Record or RecordField. Wallclock, Confluent's default, is not "
            "served: files would differ when they are written again.",
            _PARTITIONER,
            validator=one_of("Record", "RecordField"),
        ),
        _key(
            "timestamp.field", Kind.STRING, "timestamp", "The field of RecordField.", _PARTITIONER
        ),
    )
)
_PREFIXES = ("s3.", "hdfs.", "store.", "keys.", "headers.", "tombstone.", "hive.", "aws.")


def check_served(config: Mapping[str, str], table: Definitions, ignored: frozenset[str]) -> None:
    """InvalidConfig names the keys of Confluent's that would change a result and are not served."""
    unknown = {
        name: [f"{name} is not served here."]
        for name in config
        if name.startswith(_PREFIXES) and name not in table.names and name not in ignored
    }
    if unknown:
        raise InvalidConfig(unknown)
