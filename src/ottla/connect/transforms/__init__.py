"""Connect's sixteen single message transforms by Kafka's class names. A file each.

Most come as `Name$Key` and `Name$Value`. `stages` makes a connector's chain of them.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from ottla.connect import predicates
from ottla.connect.definitions import Definitions, InvalidConfig
from ottla.connect.transforms.stage import TransformStage
from ottla.connect.transforms.transform import Operand, Transform

_PACKAGE: Final = "org.apache.kafka.connect.transforms."
_BOTH: Final = ("$Key", "$Value")
# Java's class: module, and the halves of a record for which there is one
_MODULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Cast": ("cast", _BOTH),
    "DropHeaders": ("drop_headers", ("",)),
    "ExtractField": ("extract_field", _BOTH),
    "Filter": ("filter", ("",)),
    "Flatten": ("flatten", _BOTH),
    "HeaderFrom": ("header_from", _BOTH),
    "HoistField": ("hoist_field", _BOTH),
    "InsertField": ("insert_field", _BOTH),
    "InsertHeader": ("insert_header", ("",)),
    "MaskField": ("mask_field", _BOTH),
    "RegexRouter": ("regex_router", ("",)),
    "ReplaceField": ("replace_field", _BOTH),
    "SetSchemaMetadata": ("set_schema_metadata", _BOTH),
    "TimestampConverter": ("timestamp_converter", _BOTH),
    "TimestampRouter": ("timestamp_router", ("",)),
    "ValueToKey": ("value_to_key", ("",)),
}
CLASSES: Final = tuple(
    f"{_PACKAGE}{name}{half}" for name, (_, halves) in _MODULES.items() for half in halves
)


def class_name(said: str) -> str | None:
    """Java's whole name of a transform that is here."""
    return next((one for one in CLASSES if said in (one, one.removeprefix(_PACKAGE))), None)


def definitions(name: str) -> Definitions:
    made: Definitions = _module(name)[0].DEFINITIONS
    return made


def transform(said: str, settings: Mapping[str, str]) -> Transform:
    """InvalidConfig, with the transform's own keys, where they do not fit."""
    module, name, half = _module(said)
    values = module.DEFINITIONS.parse(settings)
    cls = getattr(module, name)
    made: Transform = cls(values, Operand(key=half == "$Key")) if half else cls(values)
    return made


def stages(config: Mapping[str, str]) -> list[TransformStage]:
    """What `transforms` names, in its order."""
    return [_stage(alias, config) for alias in _aliases(config, "transforms")]


def _stage(alias: str, config: Mapping[str, str]) -> TransformStage:
    prefix = f"transforms.{alias}."
    settings = _under(prefix, config)
    said = settings.pop("type", "").strip()
    wanted = settings.pop("predicate", None)
    negate = settings.pop("negate", "false").strip().lower() == "true"
    try:
        made = transform(said, settings)
    except InvalidConfig as error:
        raise _prefixed(prefix, error) from None
    test = None if wanted is None else _predicate(wanted.strip(), config)
    return TransformStage(class_name(said) or said, made, test, negate)


def _predicate(alias: str, config: Mapping[str, str]) -> predicates.Predicate:
    prefix = f"predicates.{alias}."
    settings = _under(prefix, config)
    try:
        return predicates.predicate(settings.pop("type", "").strip(), settings)
    except InvalidConfig as error:
        raise _prefixed(prefix, error) from None


def _aliases(config: Mapping[str, str], key: str) -> list[str]:
    said = [one.strip() for one in config.get(key, "").split(",")]
    return list(dict.fromkeys(one for one in said if one))


def _under(prefix: str, config: Mapping[str, str]) -> dict[str, str]:
    return {name[len(prefix) :]: said for name, said in config.items() if name.startswith(prefix)}


def _prefixed(prefix: str, error: InvalidConfig) -> InvalidConfig:
    return InvalidConfig({prefix + name: sentences for name, sentences in error.errors.items()})


def _module(said: str) -> tuple[Any, str, str]:
    name = class_name(said)
    if name is None:
        raise InvalidConfig({"type": [f"{said} is not a transform here: {', '.join(CLASSES)}"]})
    plain, dollar, half = name.removeprefix(_PACKAGE).partition("$")
    module = import_module(f"ottla.connect.transforms.{_MODULES[plain][0]}")
    return module, plain, dollar + half
