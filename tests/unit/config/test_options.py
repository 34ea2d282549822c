"""The option table against the definitions of Apache Kafka 4.3.1, and how values are checked.

`golden/kafka-4.3.1-options.tsv` was written from the configuration definitions in Kafka's jars:
scope, name, type, default, update mode, importance.
"""

import re
from pathlib import Path

import pytest

import ottla
from ottla.config import BROKER_OPTIONS, GROUP_OPTIONS, TOPIC_OPTIONS, Option

GOLDEN = Path(__file__).parent / "golden" / "kafka-4.3.1-options.tsv"
SCOPES = {"broker": BROKER_OPTIONS, "topic": TOPIC_OPTIONS, "group": GROUP_OPTIONS}
NAMES_MADE_UP = re.compile(  # by what reads them, of parts
    r"controller\.quorum\.(election|fetch|request|retry)\.(timeout|backoff|backoff\.max)\.ms$"
    r"|group\.(consumer|share|streams)\.(min|max)\."
    r"|(leader|follower)\.replication\.throttled\.|replication\.quota\.window\."
)
ONLY_AT_RUN_TIME = {  # Kafka knows these as changes, not as lines of a file
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
TABLES = ("config/broker_options/*.py", "config/*_options.py")
OF_CONFLUENT = "confluent."  # Apache Kafka does not know what begins so


def row(scope: str, option: Option) -> tuple[str, ...]:
    default = "(none)" if option.required else option.default
    return (
        scope,
        option.name,
        option.kind.name.lower(),
        "(null)" if default is None else default,
        option.update.value if scope == "broker" else "-",
        option.importance,
    )


def test_the_table_is_kafka_s() -> None:
    kafka = {tuple(line.split("\t")) for line in GOLDEN.read_text().splitlines()}
    ours = {
        row(scope, option)
        for scope, options in SCOPES.items()
        for option in options.values()
        if option.name not in ONLY_AT_RUN_TIME and not option.name.startswith(OF_CONFLUENT)
    }
    assert ours == kafka


def test_an_option_is_marked_as_ignored_where_nothing_reads_it() -> None:
    files = Path(ottla.__file__).parent.rglob("*.py")
    source = "".join(
        each.read_text()
        for each in files
        # Clients and workers of Connect have options of their own, some under the same names.
        if not any(map(each.match, (*TABLES, "client/*", "connect/settings.py")))
    )

    def is_read(name: str) -> bool:
        return f'"{name}"' in source or NAMES_MADE_UP.match(name) is not None

    for scope in ("topic", "group"):
        ignored = {name for name, option in SCOPES[scope].items() if option.ignored}
        assert ignored == {name for name in SCOPES[scope] if not is_read(name)}
    answer = {  # for options that are read, where these are not set
        synonym
        for options in SCOPES.values()
        for name, option in options.items()
        if is_read(name)
        for synonym in (*option.synonyms, *chain(option.synonyms))
    }
    ignored = {name for name, option in BROKER_OPTIONS.items() if option.ignored}
    assert ignored == {name for name in BROKER_OPTIONS if not is_read(name)} - answer


def chain(names: tuple[str, ...]) -> set[str]:
    return {synonym for name in names for synonym in BROKER_OPTIONS[name].synonyms}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("num.partitions", " 7 ", 7),
        ("num.partitions", "+7", 7),
        ("log.cleaner.min.cleanable.ratio", "1e-1", 0.1),
        ("auto.create.topics.enable", "FALSE", False),
        ("log.cleanup.policy", " compact , delete ", ("compact", "delete")),
        ("log.cleanup.policy", "compact,compact", ("compact",)),
        ("log.dirs", "/a,,/b", ("/a", "/b")),
        ("group.consumer.migration.policy", "Upgrade", "Upgrade"),
        ("ssl.key.password", " as it is ", " as it is "),
    ],
)
def test_a_value_is_read_as_kafka_reads_it(name: str, text: str, value: object) -> None:
    assert BROKER_OPTIONS[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("num.partitions", "1_000", "a whole number"),
        ("num.partitions", "٣", "a whole number"),
        ("num.partitions", "2147483648", "32 bits"),
        ("num.partitions", "0", "at least 1"),
        ("log.cleaner.min.cleanable.ratio", "nan", "at least 0"),
        ("log.cleaner.min.cleanable.ratio", "2", "at most 1"),
        ("compression.lz4.level", "18", "at most 17"),
        ("auto.create.topics.enable", "yes", "true or false"),
        ("log.cleanup.policy", "compact,shrink", "one of compact, delete"),
        ("controller.quorum.voters", "", "must not be empty"),
    ],
)
def test_a_bad_value_is_refused_with_a_reason(name: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        BROKER_OPTIONS[name].parse(text)
