"""What is in a file: the same records always make the same bytes. Pure."""

import gzip
import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ottla.connect.connectors.object_files.avro_values import avro_value
from ottla.connect.connectors.object_files.keys import last_part
from ottla.connect.connectors.object_files.parquet_schemas import arrow_schema, arrow_value
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.converters.avro_schemas import avro_schema
from ottla.connect.converters.json_writing import Writing
from ottla.connect.data import DataError, Record, Schema, Struct

_CODECS = {"none": "", "gzip": ".gz", "snappy": ".snappy", "lz4": ".lz4", "brotli": ".br"}


class Format(Protocol):
    @property
    def extension(self) -> str: ...

    def check(self, record: Record) -> None:
        """DataError for a record that cannot stand in such a file."""

    def data(self, records: Sequence[Record]) -> bytes: ...


class JsonFormat:
    """A line for each value."""

    def __init__(self, numeric_decimals: bool, gzipped: bool) -> None:
        self._writing = Writing(True, numeric_decimals)
        self._gzipped = gzipped
        self._encode = msgspec.json.Encoder(decimal_format="number").encode

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonFormat, (self._writing.numeric, self._gzipped)

    @property
    def extension(self) -> str:
        return ".json.gz" if self._gzipped else ".json"

    def check(self, record: Record) -> None:
        self._writing.node(record.value_schema, record.value)

    def data(self, records: Sequence[Record]) -> bytes:
        node, encode = self._writing.node, self._encode
        lines = [encode(node(one.value_schema, one.value)) for one in records]
        return _packed(b"\n".join(lines) + b"\n", self._gzipped)


class ByteArrayFormat:
    """Bytes as they are, with a separator behind each."""

    def __init__(self, extension: str, separator: str | None, gzipped: bool) -> None:
        self._extension = extension
        self._separator = b"\n" if separator is None else separator.encode()
        self._gzipped = gzipped

    @property
    def extension(self) -> str:
        return self._extension + (".gz" if self._gzipped else "")

    def check(self, record: Record) -> None:
        if not isinstance(record.value, bytes):
            raise DataError("ByteArrayFormat takes bytes: use ByteArrayConverter for values")

    def data(self, records: Sequence[Record]) -> bytes:
        written = b"".join(one.value + self._separator for one in records)
        return _packed(written, self._gzipped)


def _packed(data: bytes, gzipped: bool) -> bytes:
    return gzip.compress(data, mtime=0) if gzipped else data


class AvroFormat:
    def __init__(self, codec: str) -> None:
        self._codec = codec

    @property
    def extension(self) -> str:
        return ".avro"

    def check(self, record: Record) -> None:
        _struct_schema(record)

    def data(self, records: Sequence[Record]) -> bytes:
        import fastavro

        schema = _struct_schema(records[0])
        first = records[0].original
        # Avro's marker between blocks is random elsewhere; here it is the file's own.
        marker = hashlib.md5(repr(first).encode(), usedforsecurity=False).digest()
        out = io.BytesIO()
        fastavro.writer(
            out,
            fastavro.parse_schema(avro_schema(schema, AvroOptions())),
            [avro_value(schema, one.value) for one in records],
            codec=self._codec,
            sync_marker=marker,
        )
        return out.getvalue()


class ParquetFormat:
    def __init__(self, codec: str) -> None:
        self._codec = codec

    @property
    def extension(self) -> str:
        return f"{_CODECS.get(self._codec, '.' + self._codec)}.parquet"

    def check(self, record: Record) -> None:
        _struct_schema(record)

    def data(self, records: Sequence[Record]) -> bytes:
        import pyarrow
        import pyarrow.parquet

        schema = _struct_schema(records[0])
        rows = [arrow_value(schema, one.value) for one in records]
        table = pyarrow.Table.from_pylist(rows, schema=arrow_schema(schema))
        out = io.BytesIO()
        pyarrow.parquet.write_table(table, out, compression=self._codec)
        return out.getvalue()


def _struct_schema(record: Record) -> Schema:
    if not isinstance(record.value, Struct) or record.value_schema is None:
        raise DataError("Avro and Parquet take structs: values need a schema")
    return record.value_schema


def format_of(values: Mapping[str, Any], gzipped: bool) -> Format:
    match last_part(values["format.class"]):
        case "JsonFormat":
            return JsonFormat(values["json.decimal.format"].upper() == "NUMERIC", gzipped)
        case "AvroFormat":
            return AvroFormat(values["avro.codec"])
        case "ParquetFormat":
            return ParquetFormat(values["parquet.codec"])
    return ByteArrayFormat(
        values["format.bytearray.extension"], values["format.bytearray.separator"], gzipped
    )
