"""What AvroConverter is told about schemas, in Confluent's names. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.connect.definitions import Definitions, Key, Kind

KEYS = Definitions(
    (
        Key(
            name="enhanced.avro.schema.support",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether enums stay enums, and members of unions keep their namespace.",
        ),
        Key(
            name="connect.meta.data",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="Whether schemas keep what only Connect knows, in attributes `connect.…`.",
        ),
        Key(
            name="scrub.invalid.names",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether names that Avro does not allow are made fit; else they are refused.",
        ),
        Key(
            name="allow.optional.map.keys",
            kind=Kind.BOOLEAN,
            default=False,
            importance="LOW",
            doc="Whether a map by optional texts is Avro's map, too.",
        ),
        Key(
            name="flatten.singleton.unions",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="Whether a union of one type is read as that type.",
        ),
        Key(
            name="ignore.default.for.nullables",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether a null stays null where its schema has a default.",
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroOptions:
    enhanced: bool = False
    meta_data: bool = True
    scrub: bool = False
    optional_map_keys: bool = False
    flatten_singletons: bool = True
    ignore_defaults: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "AvroOptions":
        """Of parsed keys."""
        return cls(
            enhanced=values["enhanced.avro.schema.support"],
            meta_data=values["connect.meta.data"],
            scrub=values["scrub.invalid.names"],
            optional_map_keys=values["allow.optional.map.keys"],
            flatten_singletons=values["flatten.singleton.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )
