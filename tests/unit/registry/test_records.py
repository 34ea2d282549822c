"""The records of the topic, byte by byte: other registries read and compact the same ones."""

import pytest

from ottla.registry.entities import Config, Metadata, Mode, Reference, Rule, RuleSet, Schema
from ottla.registry.records import (
    ClearSubject,
    ClearSubjectKey,
    ConfigKey,
    Context,
    ContextKey,
    DeleteSubject,
    DeleteSubjectKey,
    ModeKey,
    NoopKey,
    SchemaKey,
    Unreadable,
    Write,
    decode,
    encode,
)

TEXT = '{"type":"string"}'
GOLDEN = [
    (
        Write(SchemaKey("orders-value", 1), Schema("orders-value", 1, 7, TEXT)),
        b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
        b'{"subject":"orders-value","version":1,"id":7,'
        b'"schema":"{\\"type\\":\\"string\\"}","deleted":false}',
    ),
    (
        Write(
            SchemaKey("p", 2),
            Schema("p", 2, 8, "x", "PROTOBUF", (Reference("a.proto", "a", 1),), deleted=True),
        ),
        b'{"keytype":"SCHEMA","subject":"p","version":2,"magic":1}',
        b'{"subject":"p","version":2,"id":8,"schemaType":"PROTOBUF",'
        b'"references":[{"name":"a.proto","subject":"a","version":1}],"schema":"x","deleted":true}',
    ),
    (
        Write(SchemaKey("p", 2)),
        b'{"keytype":"SCHEMA","subject":"p","version":2,"magic":1}',
        None,
    ),
    (
        Write(ConfigKey(None), Config(level="FULL")),
        b'{"keytype":"CONFIG","magic":0}',
        b'{"compatibilityLevel":"FULL"}',
    ),
    (
        Write(ConfigKey("s"), Config(level="NONE", normalize=True)),
        b'{"keytype":"CONFIG","subject":"s","magic":0}',
        b'{"subject":"s","normalize":true,"compatibilityLevel":"NONE"}',
    ),
    (
        Write(ModeKey("s"), Mode.IMPORT),
        b'{"keytype":"MODE","subject":"s","magic":0}',
        b'{"subject":"s","mode":"IMPORT"}',
    ),
    (
        Write(DeleteSubjectKey("s"), DeleteSubject("s", 3)),
        b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
        b'{"subject":"s","version":3}',
    ),
    (
        Write(ClearSubjectKey("s"), ClearSubject("s")),
        b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}',
        b'{"subject":"s"}',
    ),
    (
        Write(ContextKey(".staging"), Context(".staging")),
        b'{"keytype":"CONTEXT","tenant":"default","context":".staging","magic":0}',
        b'{"tenant":"default","context":".staging"}',
    ),
    (Write(NoopKey()), b'{"keytype":"NOOP","magic":0}', None),
]


@pytest.mark.parametrize(("write", "key", "value"), GOLDEN)
def test_a_record_has_these_bytes_and_is_read_from_them(
    write: Write, key: bytes, value: bytes | None
) -> None:
    assert encode(write) == (key, value)
    read = decode(key, value, timestamp=5)
    if isinstance(write.value, Schema):
        assert isinstance(read.value, Schema)
        assert encode(read) == (key, value)
        assert read.value.timestamp == 5
    else:
        assert read == write


def test_metadata_and_rules_are_sorted_as_they_are_written() -> None:
    metadata = Metadata({"b": ["y", "x"], "a": []}, {"z": "1", "c": "2"}, ["s"])
    rules = RuleSet(domain_rules=[Rule("r", type="CEL", tags=["B", "A"])])
    _, value = encode(
        Write(SchemaKey("s", 1), Schema("s", 1, 1, TEXT, metadata=metadata, rules=rules))
    )
    assert value == (
        b'{"subject":"s","version":1,"id":1,"metadata":{"tags":{"a":[],"b":["x","y"]},'
        b'"properties":{"c":"2","z":"1"},"sensitive":["s"]},"ruleSet":{"domainRules":'
        b'[{"name":"r","kind":"TRANSFORM","mode":"WRITEREAD","type":"CEL","tags":["A","B"],'
        b'"disabled":false}]},"schema":"{\\"type\\":\\"string\\"}","deleted":false}'
    )


def test_what_confluents_registry_writes_is_read() -> None:
    key = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
    value = (
        b'{"subject":"s","version":1,"id":3,"md5":"jQuNzz2GJ9p3HHnqNXy1fw==",'
        b'"schemaType":"AVRO","references":[],"schema":"\\"string\\"","deleted":false,"offset":9}'
    )
    read = decode(key, value, 0).value
    assert isinstance(read, Schema)
    assert (read.kind, read.id, read.digest.hex()[:6]) == ("AVRO", 3, "8d0b8d")


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"nonsense",
        b'{"keytype":"ASSOC","tenant":"default"}',
        b'{"keytype":"SCHEMA","subject":"s"}',
        b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":9}',
        b'{"keytype":7}',
    ],
)
def test_a_key_that_is_not_known_is_passed_over(key: bytes | None) -> None:
    with pytest.raises(Unreadable):
        decode(key, b"{}", 0)
