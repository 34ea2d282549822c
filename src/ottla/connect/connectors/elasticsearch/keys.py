"""The keys of elasticsearch-sink, with Confluent's names, and what they mean together. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.validators import at_least, distinct_values, one_of

_CONNECTOR, _CONVERSION, _STREAM = "Connector", "Data Conversion", "Data Stream"


def _key(
    name: str, kind: Kind, default: Any, doc: str, group: str = _CONNECTOR, **more: Any
) -> Key:
    return Key(name=name, kind=kind, default=default, doc=doc, group=group, **more)


DEFINITIONS = Definitions(
    (
        Key(
            name="connection.url",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The cluster's addresses, with commas between.",
            group=_CONNECTOR,
            validator=distinct_values(empty=False),
        ),
        _key("connection.username", Kind.STRING, None, "Who the cluster is asked as."),
        _key("connection.password", Kind.PASSWORD, None, "The password of that user."),
        _key("connection.compression", Kind.BOOLEAN, False, "Whether requests are compressed."),
        _key(
            "connection.timeout.ms",
            Kind.INT,
            1000,
            "Taken for compatibility: read.timeout.ms bounds a request, connecting included.",
        ),
        _key(
            "read.timeout.ms",
            Kind.INT,
            3000,
            "How many milliseconds an answer is waited for.",
            validator=at_least(0),
        ),
        _key(
            "batch.size",
            Kind.INT,
            2000,
            "How many documents are sent at once.",
            validator=at_least(1),
        ),
        _key(
            "max.retries",
            Kind.INT,
            5,
            "How often a failed request is sent again.",
            validator=at_least(0),
        ),
        _key(
            "retry.backoff.ms",
            Kind.LONG,
            100,
            "How many milliseconds the first pause takes.",
            validator=at_least(0),
        ),
        _key(
            "elastic.security.protocol",
            Kind.STRING,
            "PLAINTEXT",
            "SSL: addresses are https, and certificates are checked.",
            validator=one_of("PLAINTEXT", "SSL", any_case=True),
        ),
        _key(
            "elastic.https.ssl.truststore.location",
            Kind.STRING,
            None,
            "A PEM file with the certificates that are trusted.",
        ),
        _key(
            "elastic.https.ssl.truststore.type",
            Kind.STRING,
            "PEM",
            "PEM; Java's stores are not read.",
            validator=one_of("PEM", any_case=True),
        ),
        _key(
            "key.ignore",
            Kind.BOOLEAN,
            False,
            "Whether a document's id is topic+partition+offset instead of the key.",
            _CONVERSION,
        ),
        _key(
            "topic.key.ignore", Kind.LIST, [], "Topics for which key.ignore is true.", _CONVERSION
        ),
        _key(
            "schema.ignore",
            Kind.BOOLEAN,
            False,
            "Whether an index is left without a mapping made of the records' schema.",
            _CONVERSION,
        ),
        _key(
            "topic.schema.ignore",
            Kind.LIST,
            [],
            "Topics for which schema.ignore is true.",
            _CONVERSION,
        ),
        _key(
            "drop.invalid.message",
            Kind.BOOLEAN,
            False,
            "Whether records that cannot become documents are dropped.",
            _CONVERSION,
        ),
        _key(
            "compact.map.entries",
            Kind.BOOLEAN,
            True,
            "Whether maps with text for keys become objects, not lists of key and value.",
            _CONVERSION,
        ),
        _key(
            "behavior.on.null.values",
            Kind.STRING,
            "fail",
            "What becomes of a record without a value: ignore, delete or fail.",
            _CONVERSION,
            validator=one_of("ignore", "delete", "fail", any_case=True),
        ),
        _key(
            "behavior.on.malformed.documents",
            Kind.STRING,
            "fail",
            "What becomes of a document that the cluster refuses: ignore, warn or fail.",
            _CONVERSION,
            validator=one_of("ignore", "warn", "fail", any_case=True),
        ),
        _key(
            "write.method",
            Kind.STRING,
            "insert",
            "insert replaces a document, upsert merges fields into it.",
            _CONVERSION,
            validator=one_of("insert", "upsert", any_case=True),
        ),
        _key(
            "external.version.header",
            Kind.STRING,
            "",
            "A header with the document's version; empty: the offset is it.",
            _CONVERSION,
        ),
        _key(
            "data.stream.type",
            Kind.STRING,
            "none",
            "logs, metrics, or none.",
            _STREAM,
            validator=one_of("logs", "metrics", "none", any_case=True),
        ),
        _key(
            "data.stream.dataset",
            Kind.STRING,
            "",
            "The data stream's dataset; ${topic} in it is the topic.",
            _STREAM,
        ),
        _key(
            "data.stream.timestamp.field",
            Kind.LIST,
            [],
            "Fields of which the first that is there becomes @timestamp.",
            _STREAM,
        ),
    )
)
_IGNORED = frozenset(
    {
        "flush.synchronously",
        "flush.timeout.ms",
        "linger.ms",
        "max.buffered.records",
        "max.connection.idle.time.ms",
        "max.in.flight.requests",
        "type.name",
    }
)  # of Confluent's own batching; they change no result
_PREFIXES = ("connection.", "elastic.", "data.stream.", "external.", "topic.", "behavior.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the keys say; picklable."""

    urls: tuple[str, ...]
    user: tuple[str, str] | None = field(repr=False)  # with the password
    compression: bool
    timeout_s: float
    ca: str | None
    batch: int
    retries: int
    backoff_s: float
    key_ignore: bool
    key_ignored_topics: frozenset[str]
    schema_ignore: bool
    schema_ignored_topics: frozenset[str]
    drop_invalid: bool
    compact_maps: bool
    on_null: str
    on_malformed: str
    upsert: bool
    version_header: str
    stream_type: str | None
    stream_dataset: str
    timestamp_fields: tuple[str, ...]

    def ignores_key(self, topic: str) -> bool:
        return self.key_ignore or topic in self.key_ignored_topics

    def ignores_schema(self, topic: str) -> bool:
        return self.schema_ignore or topic in self.schema_ignored_topics

    def index(self, topic: str) -> str:
        """The topic's index, or its data stream."""
        if self.stream_type is not None:
            dataset = self.stream_dataset.replace("${topic}", topic).lower()
            return f"{self.stream_type}-{dataset}-{topic}".lower()[:100]
        name = topic.lower()[:255]
        if name.startswith(("-", "_")):
            name = name[1:]
        return {".": "dot", "..": "dotdot"}.get(name, name)


def options(config: Mapping[str, str]) -> Options:
    values = DEFINITIONS.parse(config)
    errors: dict[str, list[str]] = {}
    known = DEFINITIONS.names | _IGNORED | {"topics", "topics.regex"}
    for name in config:
        if name.startswith(_PREFIXES) and name not in known:
            errors[name] = [f"{name} is not served here."]
    user, password = values["connection.username"], values["connection.password"]
    if (user is None) != (password is None):
        wrong = "connection.username and connection.password are set together or not at all."
        errors["connection.username"] = errors["connection.password"] = [wrong]
    on_null = values["behavior.on.null.values"].lower()
    if on_null == "delete" and values["key.ignore"]:
        errors["behavior.on.null.values"] = [
            "delete needs the key as id: key.ignore must be false."
        ]
    stream = values["data.stream.type"].lower()
    if (stream == "none") != (values["data.stream.dataset"] == ""):
        wrong = "data.stream.type and data.stream.dataset are set together or not at all."
        errors["data.stream.type"] = errors["data.stream.dataset"] = [wrong]
    if stream != "none" and (on_null == "delete" or values["write.method"].lower() == "upsert"):
        errors["data.stream.type"] = ["A data stream takes neither deletes nor upserts."]
    if errors:
        raise InvalidConfig(errors)
    secured = values["elastic.security.protocol"].upper() == "SSL"
    return Options(
        urls=tuple(one if "://" in one else _url(one, secured) for one in values["connection.url"]),
        user=None if user is None else (user, password),
        compression=values["connection.compression"],
        timeout_s=values["read.timeout.ms"] / 1000,
        ca=values["elastic.https.ssl.truststore.location"],
        batch=values["batch.size"],
        retries=values["max.retries"],
        backoff_s=values["retry.backoff.ms"] / 1000,
        key_ignore=values["key.ignore"],
        key_ignored_topics=frozenset(values["topic.key.ignore"]),
        schema_ignore=values["schema.ignore"],
        schema_ignored_topics=frozenset(values["topic.schema.ignore"]),
        drop_invalid=values["drop.invalid.message"],
        compact_maps=values["compact.map.entries"],
        on_null=on_null,
        on_malformed=values["behavior.on.malformed.documents"].lower(),
        upsert=values["write.method"].lower() == "upsert",
        version_header=values["external.version.header"],
        stream_type=None if stream == "none" else stream,
        stream_dataset=values["data.stream.dataset"],
        timestamp_fields=tuple(values["data.stream.timestamp.field"]),
    )


def _url(address: str, secured: bool) -> str:
    return f"{'https' if secured else 'http'}://{address}"
