"""What JsonSchemaConverter is told about schemas, and its words, which are Confluent's. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ottla.connect.definitions import Definitions, Key, Kind, invalid
from ottla.connect.validators import one_of

NAMESPACE: Final = "io.confluent.connect.json"
ENUM: Final = f"{NAMESPACE}.Enum"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
NULL_SYMBOL: Final = "<NULL>"


def _only_false(name: str, value: Any) -> None:
    if value:
        raise invalid(name, value, "values are not checked against their schema here")


KEYS = Definitions(
    (
        Key(
            name="object.additional.properties",
            kind=Kind.BOOLEAN,
            default=True,
            doc="Whether schemas of structs allow more than they name.",
        ),
        Key(
            name="use.optional.for.nonrequired",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether what a schema does not require is read as optional.",
        ),
        Key(
            name="decimal.format",
            kind=Kind.STRING,
            default="BASE64",
            importance="LOW",
            doc="How decimals are written: BASE64 of their bytes, or NUMERIC.",
            validator=one_of("BASE64", "NUMERIC", any_case=True),
        ),
        Key(
            name="flatten.singleton.unions",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="Whether one of one schema is read as that schema.",
        ),
        Key(
            name="ignore.default.for.nullables",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether a null stays null where its schema has a default.",
        ),
        Key(
            name="json.fail.invalid.schema",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Only false: values are not checked against their schema.",
            validator=_only_false,
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchemaOptions:
    open_objects: bool = True
    optional_unless_required: bool = False
    numeric_decimals: bool = False
    flatten_singletons: bool = True
    ignore_defaults: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "JsonSchemaOptions":
        """Of parsed keys."""
        return cls(
            open_objects=values["object.additional.properties"],
            optional_unless_required=values["use.optional.for.nonrequired"],
            numeric_decimals=values["decimal.format"].upper() == "NUMERIC",
            flatten_singletons=values["flatten.singleton.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )
