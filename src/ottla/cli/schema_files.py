"""Schemas that a command is given: a file, or a subject of a registry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ottla.client.schema_registry import AVRO, Reference, SchemaRegistry, Stored
from ottla.errors import OttlaError

TYPES = {".avsc": AVRO, ".avro": AVRO, ".proto": "PROTOBUF", ".json": "JSON"}


@dataclass(frozen=True)
class Given:
    """A schema's text, and the texts of what it refers to."""

    name: str
    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)
    version: int | None = None


def read_file(path: Path, kind: str | None) -> Given:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise OttlaError(f"{path} cannot be read: {reason}.") from None
    return Given(str(path), kind.upper() if kind else type_of(path), text)


def type_of(path: Path) -> str:
    found = TYPES.get(path.suffix.lower())
    if found is None:
        raise OttlaError(
            f"{path}: say what it is with --type AVRO, JSON or PROTOBUF "
            f"(known endings: {', '.join(TYPES)})."
        )
    return found


def find(said: str, registry: SchemaRegistry, kind: str | None = None) -> list[Given]:
    """A file, or all versions of a subject; of `subject@3` that one only."""
    if Path(said).is_file():
        return [read_file(Path(said), kind)]
    subject, at, version = said.rpartition("@")
    if at and (version.isdecimal() or version == "latest"):
        return [given(registry.version(subject, version), registry)]
    return [given(registry.version(said, number), registry) for number in registry.versions(said)]


def given(schema: Stored, registry: SchemaRegistry) -> Given:
    references = registry.texts(schema.references)
    name = f"{schema.subject}@{schema.version}"
    return Given(name, schema.kind, schema.text, references, schema.version)


def references_of(pairs: Iterable[str]) -> list[Reference]:
    """`NAME=SUBJECT:VERSION`; without a version the latest one."""
    found = []
    for pair in pairs:
        name, equals, place = pair.partition("=")
        subject, colon, version = place.rpartition(":")
        if not colon or not version.lstrip("-").isdecimal():
            subject, version = place, "-1"
        if not equals or not name or not subject:
            raise OttlaError(f"--reference {pair} is not NAME=SUBJECT:VERSION.")
        found.append(Reference(name, subject, int(version)))
    return found
