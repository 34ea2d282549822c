"""Write src/ottla/wire/messages and src/ottla/wire/records from Kafka's own message schemas.

usage: generate_messages.py FOLDER_OF_KAFKA_JARS

The schemas are JSON files inside Kafka's jars, one per message. What is generated holds only
names, types, versions and defaults; `ottla.wire.codec` turns them into encoders and decoders.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "ottla" / "wire"
VERSION_OF_KAFKA = "4.3.1"
NOT_SERVED_YET = {("InitProducerId", 6)}  # two-phase commit: unstable upstream, never offered

OWN_TAG = 10_000
"""Tags from here on are ours: clients of Kafka skip them, and never ask for them."""


def own_field(name: str, kind: str, since: int) -> "Schema":
    versions = f"{since}+"
    field = {"name": name, "type": kind, "versions": versions, "tag": OWN_TAG}
    if kind == "string":
        field |= {"nullableVersions": versions, "default": "null"}
    return field | {"taggedVersions": versions}


OWN_FIELDS = {
    ("DescribeGroupsRequest", "DescribeGroupsRequest"): own_field("IncludeRebalance", "bool", 5),
    ("DescribeGroupsResponse", "DescribedGroup"): own_field("Rebalance", "string", 5),
    ("ConsumerGroupDescribeRequest", "ConsumerGroupDescribeRequest"): own_field(
        "IncludeRebalance", "bool", 0
    ),
    ("ConsumerGroupDescribeResponse", "DescribedGroup"): own_field("Rebalance", "string", 0),
    ("StreamsGroupDescribeRequest", "StreamsGroupDescribeRequest"): own_field(
        "IncludeRebalance", "bool", 0
    ),
    ("StreamsGroupDescribeResponse", "DescribedGroup"): own_field("Rebalance", "string", 0),
}
"""Why a group rebalanced last, and for whom it waited: told as JSON to who asks for it."""

PYTHON_TYPES = {
    "bool": ("bool", "False"),
    "int8": ("int", "0"),
    "int16": ("int", "0"),
    "uint16": ("int", "0"),
    "int32": ("int", "0"),
    "uint32": ("int", "0"),
    "int64": ("int", "0"),
    "float64": ("float", "0.0"),
    "string": ("str", '""'),
    "uuid": ("Uuid", "ZERO_UUID"),
    "bytes": ("bytes", 'b""'),
    "records": ("Records", 'b""'),
}

GROUPS = {
    "classic_groups": ("GroupMetadata",),
    "consumer_groups": ("ConsumerGroup",),
    "share_groups": ("ShareGroup",),
    "streams_groups": ("StreamsGroup",),
    "offsets": ("OffsetCommit", "LegacyOffsetCommit"),
}
"""Modules of what a group's coordinator writes, and how its records' names begin."""

Schema = dict[str, Any]


def snake(name: str) -> str:
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return name.lower()


def read_schemas(jars: Path, artifact: str, folder: str) -> list[Schema]:
    with zipfile.ZipFile(jars / f"{artifact}-{VERSION_OF_KAFKA}.jar") as jar:
        names = sorted(n for n in jar.namelist() if re.fullmatch(rf"{folder}/\w+\.json", n))
        texts = [jar.read(name).decode() for name in names]
    return [json.loads(re.sub(r"(?m)^\s*//.*$", "", text)) for text in texts]


def structs_of(schema: Schema) -> list[tuple[str, list[Schema]]]:
    """The message and the structs inside it, inner ones first."""
    shared = {common["name"]: common["fields"] for common in schema.get("commonStructs", [])}
    found: dict[str, list[Schema]] = {}

    def visit(name: str, fields: list[Schema]) -> None:
        for field in fields:
            inner = field["type"].removeprefix("[]")
            if inner not in found and (inside := field.get("fields") or shared.get(inner)):
                visit(inner, inside)
        own = OWN_FIELDS.get((schema["name"], name))
        found[name] = fields if own is None else [*fields, own]

    visit(schema["name"], schema["fields"])
    return list(found.items())


def first_version(text: str) -> int | None:
    return None if text == "none" else int(re.match(r"\d+", text).group())  # type: ignore[union-attr]


def versions_of(schema: Schema) -> range:
    first, _, last = schema["validVersions"].partition("-")
    stop = int(last or first) + 1
    base = schema["name"].removesuffix("Request").removesuffix("Response")
    while (base, stop - 1) in NOT_SERVED_YET:
        stop -= 1
    return range(int(first), stop)


def default_of(field: Schema, kind: str, nullable: bool, is_struct: bool) -> tuple[str, str]:
    """The Python annotation and the default, as Kafka's generated classes have them."""
    stated = field.get("default")
    if kind.startswith("[]"):
        inner = kind[2:]
        annotation = f"list[{PYTHON_TYPES.get(inner, (inner,))[0]}]"
        default = "None" if stated == "null" else "[]"
    elif is_struct:
        annotation = kind
        default = "None" if nullable and stated == "null" else f"field(default_factory={kind})"
    else:
        annotation, default = PYTHON_TYPES[kind]
        if stated == "null" or (nullable and kind == "string" and stated is None):
            default = "None"  # an untold string is null: what Kafka's brokers send
        elif stated is not None and stated != "":
            text = str(stated)
            match annotation:
                case "bool":
                    default = text.capitalize()
                case "str":
                    default = json.dumps(text)
                case "float":
                    default = repr(float(text))
                case "int":
                    default = str(int(text, 0))
    if (nullable or default == "None") and annotation != "Records":
        annotation += " | None"
    return annotation, default


def field_line(field: Schema, kind: str) -> str:
    words = [snake(field["name"]), kind]
    if field.get("versions", "0+") != "0+":
        words.append(field["versions"])
    if "nullableVersions" in field:
        words.append(f"null={field['nullableVersions']}")
    if "tag" in field:
        words.append(f"tag={field['tag']}:{field['taggedVersions']}")
    return " ".join(words)


def class_source(name: str, fields: list[Schema], names: dict[str, str], head: list[str]) -> str:
    lines = [f"class {names.get(name, name)}(Message):"]
    schema = []
    for f in fields:
        inner = f["type"].removeprefix("[]")
        kind = f["type"].replace(inner, names.get(inner, inner))
        is_struct = inner not in PYTHON_TYPES and not f["type"].startswith("[]")
        annotation, default = default_of(f, kind, "nullableVersions" in f, is_struct)
        lines.append(f"    {snake(f['name'])}: {annotation} = {default}")
        schema.append(field_line(f, kind))
    lines += head
    lines.append('    SCHEMA: ClassVar[str] = """')
    lines += [f"        {line}" for line in schema]
    lines.append('    """')
    return "\n".join(lines) + "\n"


def message_head(schema: Schema) -> list[str]:
    versions = versions_of(schema)
    head = []
    if "apiKey" in schema:
        head.append(f"    API_KEY: ClassVar[int] = {schema['apiKey']}")
    head.append(f"    VERSIONS: ClassVar[range] = range({versions.start}, {versions.stop})")
    flexible = first_version(schema.get("flexibleVersions", "none"))
    if flexible is not None:
        head.append(f"    FLEXIBLE_SINCE: ClassVar[int] = {flexible}")
    return head


def module_source(title: str, schemas: list[Schema], beside: list[Schema] | None = None) -> str:
    """`beside` are the schemas of its folder among which a name has to be told apart."""
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for schema in beside or schemas:
        for name in {name for name, _ in structs_of(schema)}:
            owners[name].append(schema["name"])
    bodies = []
    for schema in schemas:
        short = re.sub(r"(Record|Value|Key)$", "", schema["name"])
        own = schema["name"] if schema["name"].endswith(("Value", "Key")) else short
        prefix = re.sub(r".*(Request|Response)$", r"\1", own)
        names = {n: prefix + n for n, o in owners.items() if len(o) > 1 and schema["name"] in o}
        inflexible = first_version(schema.get("flexibleVersions", "none"))
        for name, fields in structs_of(schema):
            head = message_head(schema) if name == schema["name"] else []
            if not head and inflexible is not None:
                head = [f"    FLEXIBLE_SINCE: ClassVar[int] = {inflexible}"]
            bodies.append(class_source(name, fields, names, head))
    text = "\n\n".join(bodies)
    ids = [n for n in ("ZERO_UUID", "Uuid") if re.search(rf"\b{n}\b", text)]
    imports = "from typing import ClassVar\n\n"
    if "field(default_factory" in text:
        imports += "from msgspec import field\n\n"
    if ids:
        imports += f"from ottla.ids import {', '.join(ids)}\n"
    imports += "from ottla.wire.message import Message" + (", Records" if "Records" in text else "")
    note = "Generated by tools/generate_messages.py: change it there."
    return f'"""{title}. {note}"""\n\n{imports}\n\n\n{text}'


def write(path: Path, source: str) -> None:
    path.write_text(source)


def write_records(name: str, schemas: list[Schema], beside: list[Schema] | None = None) -> None:
    source = module_source(f"Records: {name.replace('_', ' ')}", schemas, beside)
    write(PACKAGE / "records" / f"{name}.py", source)


def main() -> None:
    jars = Path(sys.argv[1])
    clients = read_schemas(jars, "kafka-clients", "common/message")
    for folder, line in (("messages", "Requests and responses"), ("records", "Records")):
        (PACKAGE / folder).mkdir(exist_ok=True)
        note = f"{line} of the protocol, one class for all versions of a message."
        write(PACKAGE / folder / "__init__.py", f'"""{note}"""\n')
    apis: defaultdict[str, list[Schema]] = defaultdict(list)
    for schema in clients:
        if schema["type"] in ("request", "response") and schema["validVersions"] != "none":
            apis[re.sub(r"(Request|Response)$", "", schema["name"])].append(schema)
    for name, schemas in apis.items():
        write(PACKAGE / "messages" / f"{snake(name)}.py", module_source(f"{name}", schemas))
    by_name = {schema["name"]: schema for schema in clients}
    raft = ["LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord"]
    raft += ["KRaftVersionRecord", "VotersRecord"]
    quorum = [by_name[n] for n in raft]
    quorum += read_schemas(jars, "kafka-raft", "common/message")
    protocol = [by_name["ConsumerProtocolSubscription"], by_name["ConsumerProtocolAssignment"]]
    coordinator = "common/message"
    groups = read_schemas(jars, "kafka-group-coordinator", coordinator)
    records = {
        "metadata": read_schemas(jars, "kafka-metadata", "common/metadata"),
        "quorum": quorum,
        "consumer_protocol": protocol,
        "transactions": [
            *read_schemas(jars, "kafka-transaction-coordinator", coordinator),
            by_name["EndTxnMarker"],
        ],
        "share": read_schemas(jars, "kafka-share-coordinator", coordinator),
        "principals": [by_name["DefaultPrincipalData"]],
    }
    for name, schemas in records.items():
        write_records(name, schemas)
    for name, prefixes in GROUPS.items():
        own = [schema for schema in groups if schema["name"].startswith(prefixes)]
        write_records(name, own, groups)
    subprocess.run(["ruff", "format", "-q", str(PACKAGE)], check=True)
    subprocess.run(["ruff", "check", "-q", "--fix", str(PACKAGE)], check=True)


if __name__ == "__main__":
    main()
