"""The keys of converters that use a schema registry, in Confluent's names. Pure.

Names that Confluent has and that are not served are refused by name; others are passed over, as
Connect does with what it does not know.
"""

from typing import Any, Final

from ottla.connect.definitions import Definitions, Key, Kind, invalid
from ottla.connect.validators import one_of

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
_NAMES: Final = {
    "TopicNameStrategy": "topic",
    "RecordNameStrategy": "record",
    "TopicRecordNameStrategy": "topic-record",
}
STRATEGIES: Final = {f"{_PACKAGE}{name}": strategy for name, strategy in _NAMES.items()}


def _strategy_class(said: str) -> str | None:
    return next((one for one in STRATEGIES if said in (one, one.rpartition(".")[2])), None)


def _strategy(side: str) -> Key:
    return Key(
        name=f"{side}.subject.name.strategy",
        kind=Kind.CLASS,
        default=f"{_PACKAGE}TopicNameStrategy",
        doc=f"What names the subject of {side}s: the topic, the record, or both.",
        known_class=_strategy_class,
        recommender=lambda *_: list(STRATEGIES),
    )


_SOURCES: Final = ("URL", "USER_INFO")


def _pem(name: str, value: Any) -> None:
    if value is not None and value.lower().endswith((".jks", ".p12", ".pfx")):
        raise invalid(name, value, "Java's key stores are not read here: name a PEM file")


def _only_true(name: str, value: Any) -> None:
    if value is False:
        raise invalid(name, value, "what does not fit the latest schema is always refused here")


SERVED = Definitions(
    (
        Key(
            name="schema.registry.url",
            kind=Kind.LIST,
            importance="HIGH",
            doc="Where the schema registry answers; several with commas between.",
        ),
        Key(
            name="basic.auth.credentials.source",
            kind=Kind.STRING,
            default="URL",
            doc="Where user and password stand: in the URL, or in basic.auth.user.info.",
            validator=one_of(*_SOURCES, any_case=True),
        ),
        Key(
            name="basic.auth.user.info",
            kind=Kind.PASSWORD,
            default="",
            doc="user:password for the registry.",
        ),
        Key(
            name="schema.registry.basic.auth.user.info",
            kind=Kind.PASSWORD,
            default="",
            doc="The older name of basic.auth.user.info.",
        ),
        Key(
            name="schema.registry.ssl.truststore.location",
            kind=Kind.STRING,
            default=None,
            doc="A PEM file of the authorities that vouch for the registry.",
            validator=_pem,
        ),
        Key(
            name="auto.register.schemas",
            kind=Kind.BOOLEAN,
            default=True,
            doc="Whether schemas are registered as they come; else they have to be there.",
        ),
        Key(
            name="use.latest.version",
            kind=Kind.BOOLEAN,
            default=False,
            importance="LOW",
            doc="Write with the subject's latest schema, where none is registered by itself.",
        ),
        Key(
            name="latest.compatibility.strict",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="The latest schema has to read what the record's own would write.",
            validator=_only_true,
        ),
        Key(
            name="latest.cache.ttl.sec",
            kind=Kind.INT,
            default=-1,
            importance="LOW",
            doc="For how many seconds the latest version is remembered; -1: for ever.",
        ),
        Key(
            name="use.schema.id",
            kind=Kind.INT,
            default=-1,
            importance="LOW",
            doc="Write with the schema of this id, where none is registered by itself.",
        ),
        Key(
            name="normalize.schemas",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether schemas that differ only in their writing are one.",
        ),
        _strategy("key"),
        _strategy("value"),
        Key(
            name="http.read.timeout.ms",
            kind=Kind.INT,
            default=60_000,
            importance="LOW",
            doc="How long the registry may take to answer.",
        ),
        *(
            Key(
                name=name,
                kind=Kind.INT,
                default=1000,
                importance="LOW",
                doc="Taken for compatibility: schemas are remembered in any case.",
            )
            for name in ("max.schemas.per.subject", "schemas.cache.config", "latest.cache.size")
        ),
    )
)


def _refused(name: str, value: Any) -> None:
    if value is not None:
        raise invalid(name, value, f"{name} is not served here")


_CONFLUENTS: Final = (
    "bearer.auth.cache.expiry.buffer.seconds",
    "bearer.auth.client.id",
    "bearer.auth.client.secret",
    "bearer.auth.credentials.source",
    "bearer.auth.custom.provider.class",
    "bearer.auth.identity.pool.id",
    "bearer.auth.issuer.endpoint.url",
    "bearer.auth.logical.cluster",
    "bearer.auth.scope",
    "bearer.auth.token",
    "context.name.strategy",
    "key.schema.id.deserializer",
    "key.schema.id.serializer",
    "value.schema.id.deserializer",
    "value.schema.id.serializer",
    "propagate.schema.tags",
    "proxy.host",
    "proxy.port",
    "rule.actions",
    "rule.executors",
    "schema.backup.enabled",
    "schema.format",
    "schema.reflection",
    "schema.registry.ssl.keystore.location",
    "use.latest.with.metadata",
    "use.schema.guid",
)


def refused(*names: str) -> Definitions:
    return Definitions(
        tuple(
            Key(
                name=name,
                kind=Kind.PASSWORD if "secret" in name or "token" in name else Kind.STRING,
                default=None,
                importance="LOW",
                doc="Confluent's; not served here.",
                validator=_refused,
                visible=lambda *_: False,
            )
            for name in names
        )
    )


KEYS = SERVED | refused(*_CONFLUENTS)
