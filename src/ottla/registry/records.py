"""The records of the topic: keys whose bytes matter, and values.

Compaction compares keys as bytes, so the order of their fields and the lack of blanks are part of
the format: another registry in the same group must write the same key for the same thing. What is
not understood (a key of a type to come) is passed over and stays in the topic as it is.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ottla.registry.entities import (
    AVRO,
    Config,
    Metadata,
    Mode,
    Reference,
    RuleSet,
    Schema,
)
from ottla.registry.names import DEFAULT_CONTEXT

TENANT = "default"
SCHEMA_MAGIC = 1
SCHEMA_BEGIN = b'{"keytype":"SCHEMA",'  # of a schema's key, as it is written here


class SchemaKey(NamedTuple):
    subject: str
    version: int


class ConfigKey(NamedTuple):
    subject: str | None  # None: everywhere


class ModeKey(NamedTuple):
    subject: str | None


class DeleteSubjectKey(NamedTuple):
    subject: str


class ClearSubjectKey(NamedTuple):
    subject: str | None


class ContextKey(NamedTuple):
    context: str


class NoopKey(NamedTuple):
    """Written to find the end of the topic, by whoever begins to lead."""


Key = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | NoopKey


class DeleteSubject(NamedTuple):
    """All versions up to this one are deleted, softly."""

    subject: str
    version: int


class ClearSubject(NamedTuple):
    """Softly deleted versions are forgotten, of a subject or of all of a context."""

    subject: str | None


class Context(NamedTuple):
    context: str


Value = Schema | Config | Mode | DeleteSubject | ClearSubject | Context | None


class Write(NamedTuple):
    """A record to be written. No value: a tombstone, or a NOOP."""

    key: Key
    value: Value = None


# --- to bytes


def encode_key(key: Key) -> bytes:
    match key:
        case SchemaKey(subject, version):
            fields: dict[str, Any] = {
                "keytype": "SCHEMA",
                "subject": subject,
                "version": version,
                "magic": SCHEMA_MAGIC,
            }
        case ContextKey(context):
            fields = {"keytype": "CONTEXT", "tenant": TENANT, "context": context, "magic": 0}
        case NoopKey():
            fields = {"keytype": "NOOP", "magic": 0}
        case ConfigKey(subject) | ModeKey(subject) | ClearSubjectKey(subject):
            fields = _of_subject(_KEY_TYPES[type(key)], subject)
        case DeleteSubjectKey(subject):
            fields = _of_subject("DELETE_SUBJECT", subject)
    return msgspec.json.encode(fields)


_KEY_TYPES: dict[type, str] = {
    ConfigKey: "CONFIG",
    ModeKey: "MODE",
    ClearSubjectKey: "CLEAR_SUBJECT",
}


def _of_subject(kind: str, subject: str | None) -> dict[str, Any]:
    """No subject is written as no field at all."""
    named = {} if not subject else {"subject": subject}
    return {"keytype": kind, **named, "magic": 0}


def encode_value(value: Value, subject: str | None = None) -> bytes | None:
    """`subject` is the one that a setting is of."""
    match value:
        case None:
            return None
        case Schema():
            return msgspec.json.encode(_StoredSchema.of(value))
        case Config():
            return msgspec.json.encode(_with_subject(msgspec.to_builtins(value), subject))
        case Mode():
            return msgspec.json.encode(_with_subject({"mode": value.value}, subject))
        case DeleteSubject(name, version):
            return msgspec.json.encode({"subject": name, "version": version})
        case ClearSubject(name):
            return msgspec.json.encode(_with_subject({}, name))
        case Context(context):
            return msgspec.json.encode({"tenant": TENANT, "context": context})


def _with_subject(fields: dict[str, Any], subject: str | None) -> dict[str, Any]:
    return {"subject": subject, **fields} if subject else fields


def encode(write: Write) -> tuple[bytes, bytes | None]:
    subject = write.key.subject if isinstance(write.key, ConfigKey | ModeKey) else None
    return encode_key(write.key), encode_value(write.value, subject)


# --- from bytes


class Unreadable(ValueError):
    """A record that this registry does not understand."""


class _AnyKey(Struct):
    keytype: str
    magic: int = 0
    subject: str | None = None
    version: int | None = None
    context: str | None = None


class _StoredSchema(Struct, omit_defaults=True, rename={"kind": "schemaType", "rules": "ruleSet"}):
    """In the order in which Confluent's registry writes the fields."""

    subject: str
    version: int
    id: int
    md5: str | None = None
    kind: str | None = None
    references: list[Reference] | None = None
    metadata: Metadata | None = None
    rules: RuleSet | None = None
    schema: str | None = None
    deleted: bool | None = None  # always written

    @classmethod
    def of(cls, schema: Schema) -> "_StoredSchema":
        return cls(
            subject=schema.subject,
            version=schema.version,
            id=schema.id,
            md5=schema.md5,
            kind=None if schema.kind == AVRO else schema.kind,
            references=list(schema.references) or None,
            metadata=schema.metadata,
            rules=schema.rules,
            schema=schema.text,
            deleted=schema.deleted,
        )


class _StoredMode(Struct):
    mode: Mode


class _StoredDelete(Struct):
    subject: str
    version: int


_read_key = msgspec.json.Decoder(_AnyKey).decode
_read_schema = msgspec.json.Decoder(_StoredSchema).decode
_read_config = msgspec.json.Decoder(Config).decode
_read_mode = msgspec.json.Decoder(_StoredMode).decode
_read_delete = msgspec.json.Decoder(_StoredDelete).decode


def decode(key: bytes | None, value: bytes | None, timestamp: int) -> Write:
    """Unreadable for a record of a type, or with fields, that is not known here."""
    try:
        found = _read_key(key or b"")
        named = _key_of(found)
        return Write(named, None if not value else _value_of(named, value, timestamp))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from None


def _key_of(found: _AnyKey) -> Key:
    match found.keytype:
        case "SCHEMA" if found.subject is not None and found.version is not None:
            if found.magic not in (0, SCHEMA_MAGIC):
                raise Unreadable(f"a schema's key of magic {found.magic}")
            return SchemaKey(found.subject, found.version)
        case "CONFIG":
            return ConfigKey(found.subject)
        case "MODE":
            return ModeKey(found.subject)
        case "DELETE_SUBJECT" if found.subject is not None:
            return DeleteSubjectKey(found.subject)
        case "CLEAR_SUBJECT":
            return ClearSubjectKey(found.subject)
        case "CONTEXT":
            return ContextKey(found.context or DEFAULT_CONTEXT)
        case "NOOP":
            return NoopKey()
    raise Unreadable(f"a key of type {found.keytype}")


def _value_of(key: Key, value: bytes, timestamp: int) -> Value:
    match key:
        case SchemaKey():
            stored = _read_schema(value)
            return Schema(
                subject=stored.subject,
                version=stored.version,
                id=stored.id,
                text=stored.schema or "",
                kind=stored.kind or AVRO,
                references=tuple(stored.references or ()),
                metadata=stored.metadata,
                rules=stored.rules,
                deleted=bool(stored.deleted),
                md5=stored.md5,
                timestamp=timestamp,
            )
        case ConfigKey():
            return _read_config(value)
        case ModeKey():
            return _read_mode(value).mode
        case DeleteSubjectKey():
            deleted = _read_delete(value)
            return DeleteSubject(deleted.subject, deleted.version)
        case ClearSubjectKey(subject):
            return ClearSubject(subject)
        case ContextKey(context):
            return Context(context)
        case NoopKey():
            return None
