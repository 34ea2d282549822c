"""Which value of an option holds on this node, and where it came from.

Layers, strongest first: a topic's or group's own settings, what was set at run time for this
broker, what was set for the whole cluster, the file, the table's default. Within a layer an
option's synonyms count too: `log.retention.hours` answers for `log.retention.ms`.
Settings never change; `with_dynamic` and `for_topic` give new ones.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from ottla.config.options import (
    BROKER_OPTIONS,
    CLIENT_METRICS_OPTIONS,
    GROUP_OPTIONS,
    TOPIC_OPTIONS,
    ConfigType,
    Option,
    UpdateMode,
    Value,
)
from ottla.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.config.topology import Topology

_NOTHING: Mapping[str, str] = {}
LISTENER_PREFIX = "listener.name."
_PER_MECHANISM = tuple(name for name, option in BROKER_OPTIONS.items() if option.per_mechanism)
"""Given as `listener.name.LISTENER.MECHANISM.OPTION`."""
_MATCHED = frozenset(
    {
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
"""What a subscription may know clients by."""
_UNIT_MS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}


class ConfigSource(IntEnum):
    """Where a value came from; the numbers are those of DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(NamedTuple):
    """One answer of DescribeConfigs; a sensitive value is None, as the protocol asks."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    kind: ConfigType | None  # None: not an option of ours
    sensitive: bool
    read_only: bool
    doc: str


class Settings:
    """The options of one node, or of one topic or group on it (`for_topic`, `for_group`)."""

    def __init__(
        self,
        static: Mapping[str, str] = _NOTHING,
        *,
        cluster: Mapping[str, str] = _NOTHING,
        broker: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.static = static
        """What the file and `--set` say, unknown names included."""
        self._layers = (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, cluster),
            (ConfigSource.STATIC_BROKER_CONFIG, static),
        )
        self._own: Mapping[str, str] = _NOTHING
        self._own_source = ConfigSource.DYNAMIC_TOPIC_CONFIG
        self._own_options: Mapping[str, Option] = {}
        self._values: dict[str, Value] = {}
        self._topology: Topology | None = None

    @property
    def given(self) -> Mapping[str, str]:
        """What is set at all, wherever, under its whole name."""
        return {name: value for _, layer in reversed(self._layers) for name, value in layer.items()}

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> "Settings":
        """The same file under what was set at run time, for the cluster and for this broker."""
        return Settings(self.static, cluster=cluster, broker=broker)

    def for_topic(self, overrides: Mapping[str, str]) -> "Settings":
        """A topic's options: its own, then the broker's synonyms, then the default."""
        return self._narrowed(overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG, TOPIC_OPTIONS)

    def for_group(self, overrides: Mapping[str, str]) -> "Settings":
        """A group's options: its own, then the broker's `group.…` ones, then the default."""
        return self._narrowed(overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, GROUP_OPTIONS)

    def for_client_metrics(self, overrides: Mapping[str, str]) -> "Settings":
        """A subscription's options: its own, then the default."""
        source = ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
        return self._narrowed(overrides, source, CLIENT_METRICS_OPTIONS)

    def _narrowed(
        self, own: Mapping[str, str], source: ConfigSource, options: Mapping[str, Option]
    ) -> "Settings":
        narrowed = Settings()
        narrowed.static = self.static
        narrowed._layers = self._layers
        narrowed._own, narrowed._own_source, narrowed._own_options = own, source, options
        return narrowed

    # Typed getters -------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            value = self._values[name] = self._resolve(name)
            return value

    def int(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int), name
        return value

    def real(self, name: str) -> float:
        value = self.value(name)
        assert isinstance(value, (int, float)), name
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        assert isinstance(value, bool), name
        return value

    def text(self, name: str) -> str:
        """The text; empty where nothing is set."""
        value = self.value(name)
        return "" if value is None else str(value)

    def names(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        assert value is None or isinstance(value, tuple), name
        return value or ()

    @property
    def topology(self) -> "Topology":
        """Listeners, roles, voters and directories, read from the options once."""
        from ottla.config.topology import read_topology

        if self._topology is None:
            self._topology = read_topology(self)
        return self._topology

    # DescribeConfigs -----------------------------------------------------------------------

    @property
    def options(self) -> Mapping[str, Option]:
        """The options these settings are about: a topic's, a group's or the broker's."""
        return self._own_options or BROKER_OPTIONS

    def told_names(self) -> list[str]:
        """What DescribeConfigs lists: all options, those of the inner workings where they are
        given, and what was given although nobody here knows it."""
        listed = [name for name, option in self.options.items() if not option.internal]
        layers = [self._own] if self._own_options else [layer for _, layer in self._layers]
        more = [
            name
            for layer in layers
            for name in layer
            if name in self.options or not self._own_options
        ]
        return list(dict.fromkeys(listed + more))

    def describe(self, name: str) -> DescribedConfig:
        """An option as DescribeConfigs answers it, or what was given under a name of nobody's.

        Kafka's answer has a quirk that is kept: synonyms are listed from the option's own name
        on, so `log.retention.hours` decides over `retention.ms` without being named there.
        """
        option = self.options.get(name)
        if option is None:
            return self._describe_foreign(name)
        if self._own_options:
            text, origin = self._find(option)
            value = _convert(option, text, origin)
            synonyms = self._synonyms(option.synonyms)
            if self._own_source is ConfigSource.DYNAMIC_GROUP_CONFIG and not option.synonyms:
                synonyms = (Synonym(name, option.default, ConfigSource.DEFAULT_CONFIG),)
            if name in self._own:
                synonyms = (_shown(option, name, self._own, self._own_source), *synonyms)
        else:
            value = self._own_text(option)
            synonyms = self._synonyms(_broker_chain(name))
        return DescribedConfig(
            name,
            None if option.sensitive else value,
            synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            synonyms,
            option.kind,
            option.sensitive,
            option.read_only,
            option.doc,
        )

    def _describe_foreign(self, name: str) -> DescribedConfig:
        """A listener's own setting is of the kind that the option behind it is; whatever nobody
        knows may be a plug-in's secret."""
        behind = _behind_listener(name)
        option = BROKER_OPTIONS.get(behind) if behind else None
        sensitive = option is None or option.sensitive
        chain = (name, behind) if behind else (name,)
        found = [
            Synonym(one, None if sensitive else layer[one], source)
            for source, layer in self._layers
            for one in chain
            if one in layer
        ]
        kind = None if option is None else option.kind
        value = found[0].value
        return DescribedConfig(
            name, value, found[0].source, tuple(found), kind, sensitive, True, ""
        )

    def _own_text(self, option: Option) -> str | None:
        """As given under its own name, unless what wins over that name was set at run time since:
        Kafka then forgets the file's word."""
        for source, layer in self._layers:
            if option.name in layer:
                return layer[option.name]
            if source is not ConfigSource.STATIC_BROKER_CONFIG and any(
                option.name in BROKER_OPTIONS[one].synonyms
                for one in layer.keys() & BROKER_OPTIONS.keys()
            ):
                break
        return option.default

    def _synonyms(self, chain: tuple[str, ...]) -> tuple[Synonym, ...]:
        found = [
            _shown(BROKER_OPTIONS[name], name, layer, source)
            for source, layer in self._layers
            for name in chain
            if name in layer
        ]
        found += [
            Synonym(name, BROKER_OPTIONS[name].default, ConfigSource.DEFAULT_CONFIG)
            for name in chain
            if BROKER_OPTIONS[name].default is not None and not BROKER_OPTIONS[name].only_dynamic
        ]
        own = next((at for at, synonym in enumerate(found) if synonym.name == chain[0]), None)
        return () if own is None else tuple(found[own:])

    def _find(self, option: Option) -> tuple[str | None, str]:
        """The text that holds and the name of the option it was given under."""
        own = bool(self._own_options) and self._own_options.get(option.name) is option
        if own and option.name in self._own:
            return self._own[option.name], option.name
        chain = option.synonyms if own else _broker_chain(option.name)
        for _, layer in self._layers:
            for name in chain:
                if name in layer:
                    return layer[name], name
        for name in chain:
            if BROKER_OPTIONS[name].default is not None:
                return BROKER_OPTIONS[name].default, name
        return option.default, option.name

    def _resolve(self, name: str) -> Value:
        option = self._own_options.get(name) or BROKER_OPTIONS[name]
        text, origin = self._find(option)
        return option.read(_convert(option, text, origin))


def _behind_listener(name: str) -> str | None:
    """`ssl.key.password` for `listener.name.external.ssl.key.password`, which wins over it."""
    if not name.startswith(LISTENER_PREFIX) or name.count(".") < 3:
        return None
    base = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    return next((one for one in _PER_MECHANISM if base.endswith(one)), base)


def _broker_chain(name: str) -> tuple[str, ...]:
    """The option and its synonyms in the order in which they win."""
    return (name, *BROKER_OPTIONS[name].synonyms)


def _shown(option: Option, name: str, layer: Mapping[str, str], source: ConfigSource) -> Synonym:
    return Synonym(name, None if option.sensitive else layer[name], source)


def _convert(option: Option, text: str | None, origin: str) -> str | None:
    """`log.retention.hours=2` as the milliseconds that `log.retention.ms` counts."""
    if text is None or origin == option.name:
        return text
    factor = _UNIT_MS.get(origin.rpartition(".")[2], 1)
    if factor == 1:
        return text
    number = int(text)
    return str(number * factor if number >= 0 else -1)  # below zero there is no limit


# Changes asked for at run time ----------------------------------------------------------------


def validate_topic_config(name: str, value: str) -> None:
    """KafkaError(INVALID_CONFIG) where a topic may not be given this."""
    _validate("topic", TOPIC_OPTIONS, name, value)


def validate_group_config(name: str, value: str) -> None:
    _validate("group", GROUP_OPTIONS, name, value)


def validate_client_metrics(configs: Mapping[str, str]) -> None:
    """All that is set for a subscription; names are judged before values."""
    for name in configs:
        if name not in CLIENT_METRICS_OPTIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Client metrics have no option {name}.")
    for name, value in configs.items():
        _validate("client metrics", CLIENT_METRICS_OPTIONS, name, value)
    subscription = Settings().for_client_metrics(configs)
    if not 100 <= subscription.int("interval.ms") <= 3_600_000:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "interval.ms lies between 100 and 3600000.")
    for pattern in subscription.names("match"):
        name, separator, value = map(str.strip, pattern.partition("="))
        is_pair = separator and value and "=" not in value
        if name not in _MATCHED or not is_pair or not _is_expression(value):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"match: {pattern} is not of the form NAME=PATTERN."
            )


def _is_expression(pattern: str) -> bool:
    import re2  # native, and wanted by few

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return False
    return True


def validate_broker_config(name: str, value: str, *, cluster_wide: bool) -> None:
    """Also refuses what only the file may say, and what each broker must be told by itself."""
    option = _validate("broker", BROKER_OPTIONS, name, value)
    if option.read_only:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{name} can be changed in the file only, before a start."
        )
    if cluster_wide and option.update is UpdateMode.PER_BROKER:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{name} is set for each broker, not for the whole cluster."
        )


def validate_topic_configs(configs: Mapping[str, str]) -> None:
    """All of a topic's own settings, one by one and against each other."""
    for name, value in configs.items():
        validate_topic_config(name, value)
    topic = Settings().for_topic(configs)
    if topic.int("min.compaction.lag.ms") > topic.int("max.compaction.lag.ms"):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "min.compaction.lag.ms must not be greater than max.compaction.lag.ms.",
        )
    if topic.flag("remote.storage.enable"):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "remote.storage.enable needs a broker with tiered storage; this one has none.",
        )


def _validate(scope: str, options: Mapping[str, Option], name: str, value: str) -> Option:
    option = options.get(name) or options.get(_behind_listener(name) or "")
    if option is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"There is no {scope} option {name}.")
    try:
        option.parse(value)
    except ValueError as error:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {error}."
        ) from None
    return option
