"""The one table of options: those of brokers, topics, groups and client metrics in Kafka 4.3.

It feeds the properties parser, the command line, DescribeConfigs and the configuration reference.
The rows are text (`broker_options`, by area; `topic_options`, …): a line with the name, kind,
default, accepted values, update mode, importance and flags, then a sentence that says what it is
for.
Which value holds on a node is the business of `settings`, not of this module.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum
from itertools import chain
from operator import attrgetter

from ottla.config.broker_options import BROKER
from ottla.config.client_metrics_options import CLIENT_METRICS
from ottla.config.group_options import GROUP
from ottla.config.topic_options import TOPIC

Value = bool | int | float | str | tuple[str, ...] | None


class ConfigType(IntEnum):
    """What a value is; the numbers are those of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(Enum):
    """How a broker option may be changed while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


_KINDS = {kind.name.lower(): kind for kind in ConfigType}
_UPDATES = {update.value: update for update in UpdateMode}
_BITS = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}


class Option:
    """One row of the table. `default` is text as in a properties file; None means "not set"."""

    __slots__ = (
        "accepts",
        "default",
        "doc",
        "gradual",
        "ignored",
        "importance",
        "internal",
        "kind",
        "name",
        "per_mechanism",
        "required",
        "synonyms",
        "update",
    )

    def __init__(self, head: str, doc: str) -> None:
        row, _, synonyms = head.partition(" < ")
        name, kind, default, accepts, update, importance, *flags = row.split()
        self.name = name
        self.kind = _KINDS[kind]
        self.required = default == "required"
        self.default = None if default in ("null", "required") else default.strip('"')
        self.accepts = accepts
        self.update = _UPDATES[update]
        self.importance = importance
        self.internal = "internal" in flags
        """Known and obeyed, but not listed by DescribeConfigs unless asked for by name."""
        self.ignored = "ignored" in flags
        """Known, checked and answered, but nothing here reads it."""
        self.gradual = "gradual" in flags
        """One change may at most double or halve it."""
        self.per_mechanism = "per-mechanism" in flags
        """May be given for one way to authenticate on one listener."""
        self.synonyms = tuple(synonyms.split())
        """Broker options asked in this order when the option itself is not set."""
        self.doc = doc

    @property
    def sensitive(self) -> bool:
        return self.kind is ConfigType.PASSWORD

    @property
    def read_only(self) -> bool:
        return self.update is UpdateMode.READ_ONLY

    @property
    def only_dynamic(self) -> bool:
        """A throttle: it can be set while brokers run and has no place in the file."""
        return self.internal and not self.read_only

    def parse(self, text: str | None) -> Value:
        """The typed value; ValueError with half a sentence ("a whole number is expected")."""
        value = self.read(text)
        if self.kind is ConfigType.LIST and "|" in self.accepts and _has_a_gap(text or ""):
            raise ValueError("an item is empty")
        if value is not None and self.accepts != "-":
            _check(self.accepts, value)
        return value

    def read(self, text: str | None) -> Value:
        """The typed value of a text that was checked where it came in, or of a default."""
        if text is None:
            return None
        if self.kind is ConfigType.PASSWORD:
            return text
        value = _typed(self.kind, text.strip())
        if isinstance(value, tuple) and "|" in self.accepts:
            return tuple(dict.fromkeys(value))  # of a choice, what is named twice counts once
        return value


def _has_a_gap(text: str) -> bool:
    """`a,,b`; of an empty list nothing is missing."""
    return bool(text.strip()) and not all(map(str.strip, text.split(",")))


def _typed(kind: ConfigType, text: str) -> Value:
    if kind is ConfigType.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise ValueError("true or false is expected")
        return text.lower() == "true"
    if kind in _BITS:
        return _whole_number(text, _BITS[kind])
    if kind is ConfigType.DOUBLE:
        try:
            return float(text if "_" not in text else "")
        except ValueError:
            raise ValueError("a number is expected") from None
    if kind is ConfigType.LIST:
        return tuple(item for item in map(str.strip, text.split(",")) if item)
    return text


def _whole_number(text: str, bits: int) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("a whole number is expected")
    number = int(text)
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"the number does not fit into {bits + 1} bits")
    return number


def _check(accepts: str, value: Value) -> None:
    if accepts == "some":
        if not value:
            raise ValueError("it must not be empty")
    elif accepts == "replicas":
        _check_throttled_replicas(value)
    elif accepts == "limits":
        _check_limits(value)
    elif accepts == "reset":
        _check_offset_reset(value)
    elif ".." in accepts:
        _check_range(accepts, value)
    else:
        _check_choice(accepts, value)


def _check_range(accepts: str, value: Value) -> None:
    """`1..9|-1` is a range and one value beside it; either end of the range may be open."""
    span, _, beside = accepts.partition("|")
    least, _, most = span.partition("..")
    assert isinstance(value, (int, float))
    if beside and value == float(beside):
        return
    if value != value or (least and value < float(least)):
        raise ValueError(f"at least {least} is expected")
    if most and value > float(most):
        raise ValueError(f"at most {most} is allowed")


def _check_choice(accepts: str, value: Value) -> None:
    """`a|b` by exact name, `~a|b` whatever the case; of a list, every item."""
    choices = accepts.lstrip("~").split("|")
    items = value if isinstance(value, tuple) else (value,)
    for item in items:
        seen = str(item).upper() if accepts.startswith("~") else item
        if seen not in choices:
            raise ValueError(f"one of {', '.join(choices)} is expected")


def _check_throttled_replicas(value: Value) -> None:
    assert isinstance(value, tuple)
    if value == ("*",):
        return
    for pair in value:
        partition, _, broker = pair.partition(":")
        if not (partition.strip().isdecimal() and broker.strip().isdecimal()):
            raise ValueError("either * or pairs of PARTITION:BROKER are expected")


def _check_limits(value: Value) -> None:
    for pair in filter(None, map(str.strip, str(value).split(","))):
        host, _, count = pair.rpartition(":")
        if not (host and count.isascii() and count.isdigit()):
            raise ValueError("pairs of HOST:COUNT are expected")


def _check_offset_reset(value: Value) -> None:
    text = str(value)
    if text in ("latest", "earliest"):
        return
    if text.startswith("by_duration:P") and len(text) > len("by_duration:P"):
        return
    raise ValueError("latest, earliest or by_duration:PnDTnHnMn.nS is expected")


def _rows(table: str) -> Iterator[Option]:
    lines = iter(table.strip().splitlines())
    for head in lines:
        yield Option(head, next(lines).strip())


BROKER_OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in sorted(chain.from_iterable(map(_rows, BROKER)), key=attrgetter("name"))
}
TOPIC_OPTIONS: Mapping[str, Option] = {option.name: option for option in _rows(TOPIC)}
GROUP_OPTIONS: Mapping[str, Option] = {option.name: option for option in _rows(GROUP)}
CLIENT_METRICS_OPTIONS: Mapping[str, Option] = {
    option.name: option for option in _rows(CLIENT_METRICS)
}
