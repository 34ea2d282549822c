"""What ProtobufConverter is told about schemas, and its words, which are Confluent's. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus

from ottla.connect.definitions import Definitions, Key, Kind

NAMESPACE: Final = "io.confluent.connect.protobuf"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union"
TAG: Final = f"{NAMESPACE}.Tag"
TYPE: Final = f"{NAMESPACE}.Type"
PRECISION: Final = "connect.decimal.precision"
DECIMAL_TYPE: Final = "confluent.type.Decimal"
DATE_TYPE: Final = "google.type.Date"
TIME_TYPE: Final = "google.type.TimeOfDay"
TIMESTAMP_TYPE: Final = "google.protobuf.Timestamp"
FILES: Final = {
    DECIMAL_TYPE: "confluent/type/decimal.proto",
    DATE_TYPE: "google/type/date.proto",
    TIME_TYPE: "google/type/timeofday.proto",
    TIMESTAMP_TYPE: "google/protobuf/timestamp.proto",
}
META_FILE: Final = "confluent/meta.proto"
META_NUMBER: Final = 1088  # of an option that holds confluent.Meta
WRAPPERS_FILE: Final = "google/protobuf/wrappers.proto"


def _flag(name: str, default: bool, doc: str) -> Key:
    return Key(name=name, kind=Kind.BOOLEAN, default=default, doc=doc)


KEYS = Definitions(
    (
        _flag("enhanced.protobuf.schema.support", False, "Whether messages keep their package."),
        _flag("scrub.invalid.names", False, "Whether names that Protobuf refuses are made fit."),
        _flag("int.for.enums", False, "Whether enums are read as numbers."),
        _flag("optional.for.nullables", False, "Whether what is optional is `optional`."),
        _flag("optional.for.proto2", True, "Whether `optional` of proto2 counts as such."),
        _flag("wrapper.for.nullables", False, "Whether what is optional is a wrapper."),
        _flag("wrapper.for.raw.primitives", True, "Whether a wrapper alone is its value."),
        _flag("generate.struct.for.nulls", False, "Whether absent messages are read as empty."),
        _flag("generate.index.for.unions", True, "Whether a oneof's name tells its number."),
        _flag("flatten.unions", False, "Whether a oneof's fields stand in the message."),
        _flag("ignore.default.for.nullables", False, "Whether a null stays null."),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufOptions:
    enhanced: bool = False
    scrub: bool = False
    int_enums: bool = False
    optional: bool = False
    optional_proto2: bool = True
    wrappers: bool = False
    raw_wrappers: bool = True
    structs_for_nulls: bool = False
    union_index: bool = True
    flatten_unions: bool = False
    ignore_defaults: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ProtobufOptions":
        """Of parsed keys."""
        return cls(
            enhanced=values["enhanced.protobuf.schema.support"],
            scrub=values["scrub.invalid.names"],
            int_enums=values["int.for.enums"],
            optional=values["optional.for.nullables"],
            optional_proto2=values["optional.for.proto2"],
            wrappers=values["wrapper.for.nullables"],
            raw_wrappers=values["wrapper.for.raw.primitives"],
            structs_for_nulls=values["generate.struct.for.nulls"],
            union_index=values["generate.index.for.unions"],
            flatten_unions=values["flatten.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )


_ALLOWED = re.compile("[A-Za-z][A-Za-z0-9_]*")


def scrubbed(name: str) -> str:
    """A name that Protobuf allows: as in a URL, with underscores for what is still wrong."""
    if not name or _ALLOWED.fullmatch(name):
        return name
    quoted = quote_plus(name, safe="*-._").replace("~", "%7E")
    if quoted[0].isdigit() or quoted[0] == "_":
        quoted = f"x{quoted}"
    return re.sub("[^A-Za-z0-9_]", "_", quoted)


def map_entry(name: str) -> str:
    if "_" in name:
        name = "".join(part.capitalize() for part in name.split("_"))
    return f"{name}Entry"


def map_field(entry: str) -> str:
    """The other way, as Guava turns camels into underscores."""
    package, dot, last = entry.rpartition(".")
    if last.endswith("Entry"):
        last = re.sub("(?<!^)(?=[A-Z])", "_", last.removesuffix("Entry")).lower()
    return f"{package}{dot}{last}"
