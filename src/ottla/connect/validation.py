"""A connector's configuration checked as Connect checks it: what REST answers to `validate`.

The common keys, the connector's own, those of the transforms, predicates and converters that it
names; then what only several keys together show. Absent: policies of client overrides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ottla.connect import converters, predicates, transforms
from ottla.connect.common_keys import SINK, SOURCE
from ottla.connect.definitions import (
    REQUIRED,
    ConfigValue,
    Definitions,
    InvalidConfig,
    Key,
    Kind,
    Validator,
)
from ottla.connect.java_text import double_text
from ottla.connect.patterns import Pattern

HIDDEN: Final = "[hidden]"
_IMPORTANCE = ("HIGH", "MEDIUM", "LOW")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """ConfigInfos: every key with what is wrong about it."""

    name: str  # the class, as it was said
    groups: Sequence[str]
    keys: Mapping[str, Key]
    values: Mapping[str, ConfigValue]

    @property
    def error_count(self) -> int:
        return sum(len(one.errors) for one in self.values.values())

    @property
    def errors(self) -> dict[str, list[str]]:
        return {name: one.errors for name, one in self.values.items() if one.errors}

    def body(self) -> dict[str, Any]:
        undefined = [one for one in self.values.values() if one.name not in self.keys]
        configs = [{"definition": None, "value": value_info(one, None)} for one in undefined]
        configs += [
            {"definition": key_info(key), "value": value_info(self.values[name], key.kind)}
            for name, key in self.keys.items()
        ]
        return {
            "name": self.name,
            "error_count": self.error_count,
            "groups": list(self.groups),
            "configs": configs,
        }


def validated(
    kind: Literal["source", "sink"],
    own: Definitions,
    config: Mapping[str, str | None],
    worker: Mapping[str, str],
    *,
    version: str,
    check: Callable[[], object] | None = None,
) -> Validated:
    """`own`: the connector's table. `check` raises InvalidConfig for what only all keys show."""
    said = {name: value for name, value in config.items() if value is not None}
    common = _with_defaults(SOURCE if kind == "source" else SINK, said, worker, version)
    table = common | _enriched(said) | own
    values = table.validate(config)
    groups = table.groups
    keys = {one.name: one for one in table.keys}
    if kind == "sink":
        _check_topics(said, values)
    if check is not None and not any(values[one.name].errors for one in own.keys):
        _note(values, check)
    for name, value in config.items():
        if value is None:
            values.setdefault(name, ConfigValue(name)).errors.append(
                "Null value can not be supplied as the configuration value."
            )
    for side in ("header", "key", "value"):
        _converter_keys(side, said, keys, values, groups)
    return Validated(
        name=said.get("connector.class", ""),
        groups=list(dict.fromkeys(groups)),
        keys=keys,
        values=values,
    )


def plugin_keys(
    kind: Literal["source", "sink"], own: Definitions, *, version: str
) -> Sequence[Key]:
    """All keys of a connector, its own first: what REST answers to a plugin's `config`."""
    common = (SOURCE if kind == "source" else SINK).keys
    known = [
        replace(key, default=version) if key.name == "connector.plugin.version" else key
        for key in common
        if key.name not in own.names
    ]
    return [*own.keys, *known]


def _note(values: dict[str, ConfigValue], check: Callable[[], object]) -> None:
    try:
        check()
    except InvalidConfig as error:
        for name, sentences in error.errors.items():
            values.setdefault(name, ConfigValue(name)).errors.extend(sentences)


# --- what REST shows


def key_info(key: Key) -> dict[str, Any]:
    required = key.default is REQUIRED
    return {
        "name": key.name,
        "type": key.kind.value,
        "required": required,
        "default_value": None if required else shown(key.default, key.kind),
        "importance": key.importance,
        "documentation": key.doc,
        "group": key.group,
        "width": key.width,
        "display_name": key.display_name or key.name,
        "dependents": list(key.dependents),
        "order_in_group": key.order,
    }


def value_info(value: ConfigValue, kind: Kind | None) -> dict[str, Any]:
    element = Kind.STRING if kind is Kind.LIST else kind
    return {
        "name": value.name,
        "value": shown(value.value, kind),
        "recommended_values": [shown(one, element) for one in value.recommended],
        "errors": list(value.errors),
        "visible": value.visible,
    }


def shown(value: Any, kind: Kind | None) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case list() | tuple():
            return ",".join(map(str, value))
    return HIDDEN if kind is Kind.PASSWORD else str(value)


# --- keys that depend on what was said


def _with_defaults(
    table: Definitions, said: Mapping[str, str], worker: Mapping[str, str], version: str
) -> Definitions:
    """Converters' defaults are the worker's; versions are recommended as they are installed."""
    keys = []
    for key in table.keys:
        side = key.name.partition(".")[0]
        match key.name:
            case "connector.plugin.version":
                key = replace(key, default=version, recommender=lambda *_: [version])
            case "key.converter" | "value.converter" | "header.converter":
                key = replace(
                    key,
                    default=_converter_default(side, worker),
                    recommender=_converter_classes(side),
                )
            case _ if key.name.endswith(".converter.plugin.version"):
                used = said.get(f"{side}.converter") or _converter_default(side, worker)
                key = replace(
                    key,
                    default=None if used is None else KAFKA_VERSION,
                    recommender=_versions_of(f"{side}.converter"),
                    visible=_is_said(f"{side}.converter"),
                )
        keys.append(key)
    return Definitions(tuple(keys))


KAFKA_VERSION: Final = "4.3.1"  # of what comes with Kafka: converters, transforms, predicates


def _converter_default(side: str, worker: Mapping[str, str]) -> str | None:
    named = worker.get(f"{side}.converter")
    if named is None:
        return converters.DEFAULTS["header"] if side == "header" else None
    return converters.class_name(named.strip()) or named


def _converter_classes(side: str) -> Callable[..., list[str]]:
    hidden = converters.NOT_FOR_HEADERS if side == "header" else converters.HEADERS_ONLY
    return lambda *_: [one for one in converters.CLASSES if one not in hidden]


def _versions_of(name: str) -> Callable[[str, Mapping[str, Any]], list[str]]:
    return lambda _, parsed: [] if parsed.get(name) is None else [KAFKA_VERSION]


def _is_said(name: str) -> Callable[[str, Mapping[str, Any]], bool]:
    return lambda _, parsed: parsed.get(name) is not None


def _enriched(said: Mapping[str, str]) -> Definitions:
    """The keys of each transform and predicate that is named."""
    keys: list[Key] = []
    for alias in _aliases(said, "transforms"):
        keys += _plugin_keys("transforms", alias, said)
    for alias in _aliases(said, "predicates"):
        keys += _plugin_keys("predicates", alias, said)
    return Definitions(tuple(keys))


_IMPLICIT = Definitions(
    (
        Key(
            name="predicate",
            kind=Kind.STRING,
            default=None,
            doc="The alias of the predicate that says whether the transform applies.",
        ),
        Key(
            name="negate",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether the transform applies where the predicate does not.",
        ),
    )
)


def _plugin_keys(kind: str, alias: str, said: Mapping[str, str]) -> list[Key]:
    package = transforms if kind == "transforms" else predicates
    word = "transformation" if kind == "transforms" else "predicate"
    prefix, group = f"{kind}.{alias}.", f"{kind.capitalize()}: {alias}"
    type_key = Key(
        name=f"{prefix}type",
        kind=Kind.CLASS,
        importance="HIGH",
        doc=f"Class for the '{alias}' {word}.",
        group=group,
        order=0,
        width="LONG",
        display_name=f"{word.capitalize()} type for {alias}",
        known_class=_class_or_abstract(package),
        validator=_type_validator(package, prefix, said),
        recommender=lambda *_: package.CLASSES,
    )
    found = package.class_name(said.get(f"{prefix}type", "").strip())
    version_key = Key(
        name=f"{prefix}plugin.version",
        kind=Kind.STRING,
        default=None if found is None else KAFKA_VERSION,
        importance="HIGH",
        doc=f"Version of the '{alias}' {word}.",
        group=group,
        order=1,
        width="LONG",
        display_name=f"{word.capitalize()} version for {alias}",
        recommender=_versions_of(f"{prefix}type"),
    )
    if found is None:
        return [type_key, version_key]
    inner = package.definitions(found)
    if kind == "transforms":
        inner = _IMPLICIT | Definitions(
            tuple(one for one in inner.keys if one.name not in _IMPLICIT.names)
        )
    return [type_key, version_key, *_embedded(prefix, group, 2, inner)]


def _class_or_abstract(package: Any) -> Callable[[str], str | None]:
    def known(said: str) -> str | None:
        found: str | None = package.class_name(said)
        if found is None and any(one.startswith(f"{said}$") for one in package.CLASSES):
            return said  # the abstract class of $Key and $Value
        return found

    return known


def _type_validator(package: Any, prefix: str, said: Mapping[str, str]) -> Validator:
    def check(name: str, value: Any) -> None:
        negate, predicate = f"{prefix}negate", f"{prefix}predicate"
        if package is transforms and negate in said and predicate not in said:
            raise ValueError(
                f"Config '{negate}' was provided but there is no config '{predicate}' "
                "defining a predicate to be negated."
            )
        if value is not None and package.class_name(value) is None:
            within = ", ".join(one for one in package.CLASSES if one.startswith(f"{value}$"))
            raise ValueError(
                f"This class is abstract and cannot be created. Did you mean {within}?"
            )

    return check


def _embedded(prefix: str, group: str, order: int, inner: Definitions) -> list[Key]:
    """A plugin's keys as they stand in the connector's table."""

    def place(key: Key) -> tuple[Any, ...]:
        within = -1 if key.group is None else inner.groups.index(key.group)
        optional = key.default is not REQUIRED
        return within, key.order, optional, _IMPORTANCE.index(key.importance), key.name

    return [
        replace(
            key,
            name=prefix + key.name,
            group=group if key.group is None else f"{group}: {key.group}",
            order=order + at,
            display_name=key.display_name or key.name,
            dependents=tuple(prefix + one for one in key.dependents),
            validator=_unprefixed(prefix, key.validator),
        )
        for at, key in enumerate(sorted(inner.keys, key=place))
    ]


def _unprefixed(prefix: str, validator: Validator | None) -> Validator | None:
    if validator is None:
        return None
    return lambda name, value: validator(name.removeprefix(prefix), value)


def _aliases(said: Mapping[str, str], key: str) -> list[str]:
    text = said.get(key, "").strip()
    return list(dict.fromkeys(one.strip() for one in text.split(","))) if text else []


# --- several keys together


def _check_topics(said: Mapping[str, str], values: dict[str, ConfigValue]) -> None:
    topics, pattern = said.get("topics", "").strip(), said.get("topics.regex", "").strip()
    dead = said.get("errors.deadletterqueue.topic.name", "").strip()
    if topics and pattern:
        wrong = "topics and topics.regex are mutually exclusive options, but both are set."
    elif not topics and not pattern:
        wrong = "Must configure one of topics or topics.regex"
    else:
        wrong = None
    if wrong is not None:
        values["topics"].errors.append(wrong)
        values["topics.regex"].errors.append(wrong)
    if not dead:
        return
    if topics and dead in [one.strip() for one in topics.split(",")]:
        values["topics"].errors.append(
            f"The DLQ topic '{dead}' may not be included in the list of topics "
            f"('topics={topics}') consumed by the connector"
        )
    if pattern and not values["topics.regex"].errors and Pattern(pattern).full_match(dead):
        values["topics.regex"].errors.append(
            f"The DLQ topic '{dead}' may not be matched by the regex for the topics "
            f"('topics.regex={pattern}') consumed by the connector"
        )


def _converter_keys(
    side: str,
    said: Mapping[str, str],
    keys: dict[str, Key],
    values: dict[str, ConfigValue],
    groups: list[str],
) -> None:
    """The keys of a converter that the connector itself names."""
    name = f"{side}.converter"
    if name not in said or values[name].errors:
        return
    prefix = f"{name}."
    inner = {one[len(prefix) :]: text for one, text in said.items() if one.startswith(prefix)}
    table = converters.definitions(said[name].strip())
    found = table.validate({"converter.type": side} | inner)
    groups += table.groups
    for key in table.keys:
        keys[prefix + key.name] = replace(
            key, name=prefix + key.name, display_name=key.display_name or key.name
        )
        values[prefix + key.name] = replace(found[key.name], name=prefix + key.name)
