"""Every message at every version, against kio's independent implementation."""

import importlib
import io
import pkgutil
import random
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from ottla.wire import messages
from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.compiler import parse_schema
from ottla.wire.message import Message
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

MODULES = [module.name for module in pkgutil.iter_modules(messages.__path__)]
CASES = [
    (name, cls, version)
    for name in MODULES
    for cls in vars(importlib.import_module(f"ottla.wire.messages.{name}")).values()
    if isinstance(cls, type) and issubclass(cls, Message) and cls.API_KEY >= 0
    for version in cls.VERSIONS
]

OWN_TAG = 10_000  # fields of ours, which kio does not know

SAMPLES: dict[str, Any] = {
    "bool": lambda r: r.random() < 0.5,
    "int8": lambda r: r.randrange(0, 3),
    "int16": lambda r: r.randrange(0, 80),
    "uint16": lambda r: r.randrange(1 << 16),
    "int32": lambda r: r.randrange(1 << 20),
    "uint32": lambda r: r.randrange(1 << 32),
    "int64": lambda r: r.randrange(1 << 30),
    "float64": lambda r: r.random(),
    "uuid": lambda r: r.randbytes(16),
    "string": lambda r: "".join(r.choices("abcö€", k=r.randrange(1, 200))),
    "bytes": lambda r: r.randbytes(r.randrange(0, 300)),
    "records": lambda r: r.randbytes(r.randrange(0, 300)),
}


def sample(cls: type[Message], version: int, dice: random.Random) -> Message:
    values: dict[str, Any] = {}
    for field in parse_schema(cls):
        if version not in field.versions or (field.tag or 0) >= OWN_TAG:
            continue
        if version in field.nullable and dice.random() < 0.3:
            values[field.name] = None
        elif field.is_array:
            values[field.name] = [
                sample_of(cls, field.inner, version, dice) for _ in range(dice.randrange(4))
            ]
        else:
            values[field.name] = sample_of(cls, field.inner, version, dice)
    return cls(**values)


def sample_of(cls: type[Message], kind: str, version: int, dice: random.Random) -> Any:
    if kind in SAMPLES:
        return SAMPLES[kind](dice)
    inner = getattr(importlib.import_module(cls.__module__), kind)
    return sample(inner, version, dice)


def kio_class(name: str, cls: type[Message], version: int) -> Any:
    part = "request" if cls.__name__.endswith("Request") else "response"
    module = importlib.import_module(f"kio.schema.{name}.v{version}.{part}")
    return getattr(module, cls.__name__)


@pytest.mark.parametrize("module", MODULES)
def test_kio_reads_what_we_write_and_writes_the_same_bytes(module: str) -> None:
    for name, cls, version in CASES:
        if name != module:
            continue
        theirs = kio_class(name, cls, version)
        dice = random.Random(f"{cls.__name__}{version}")
        for _ in range(5):
            ours = sample(cls, version, dice)
            data = encode(ours, version)
            entity, size = entity_reader(theirs)(data, 0)
            assert size == len(data)
            out = io.BytesIO()
            entity_writer(theirs)(out, entity)
            assert out.getvalue() == data, (cls.__name__, version)
            again, end = decode(cls, version, memoryview(data))
            assert end == len(data)
            assert encode(again, version) == data


def test_unknown_tagged_fields_are_skipped() -> None:
    data = encode(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    assert data[-1] == 0
    with_tag = data[:-1] + b"\x01\x63\x02hi"
    message, end = decode(MetadataRequest, 12, with_tag)
    assert end == len(with_tag)
    assert message.topics is not None
    assert message.topics[0].name == "t"


def test_a_count_beyond_the_bytes_left_is_refused_before_it_is_believed() -> None:
    with pytest.raises(MalformedMessage, match="2147483647"):
        decode(MetadataRequest, 1, b"\x7f\xff\xff\xff")


@pytest.mark.parametrize("version", FetchRequest.VERSIONS)
def test_a_request_cut_anywhere_is_malformed(version: int) -> None:
    data = encode(sample(FetchRequest, version, random.Random(7)), version)
    for cut in range(len(data)):
        with pytest.raises(MalformedMessage):
            decode(FetchRequest, version, memoryview(data)[:cut])
