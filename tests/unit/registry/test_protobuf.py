"""Protobuf: texts, kinds of difference; the real protoc and runtime say what is right."""

import base64
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from ottla.registry.parsed import NotASchema
from ottla.registry.protobuf.compatibility import Side, all_differences, differences
from ottla.registry.protobuf.descriptors import file_of
from ottla.registry.protobuf.names import Names
from ottla.registry.protobuf.parsing import parse_file
from ottla.registry.protobuf.schema import parse
from ottla.registry.protobuf.text import normal_text, text_of

EVERYTHING = """
// A comment
/* and
another */
syntax = "proto2";
package shop.v1;
import "google/protobuf/descriptor.proto";
import public 'google/protobuf/any.proto';
option java_package = "com." "shop";
option (flag) = true;
extend google.protobuf.FileOptions { optional bool flag = 50001; }
extend google.protobuf.FieldOptions { optional Meta meta = 50002; }
message Meta { optional string doc = 1; repeated int32 n = 2; }
message Order {
  option deprecated = true;
  reserved 5, 8 to 10, 100 to max;
  reserved "old", "older";
  required int64 id = 1;
  optional string note = 2 [default = "a\\"b\\n", json_name = "Note", deprecated = true];
  repeated .shop.v1.Order.Line lines = 3 [(meta) = { doc: "x" n: [1, 2] }];
  map<string, Kind> kinds = 4;
  oneof paid { bytes cash = 6; Line card = 7; }
  extensions 20 to 30;
  message Line { optional Kind kind = 1 [default = NEW]; enum Deep { ZERO = 0; } }
  enum Kind { option allow_alias = true; NEW = 0; ALSO = 0; OLD = 2 [deprecated = true]; }
}
service Shop {
  rpc Buy (Order) returns (stream Order) { option deprecated = true; }
  rpc Ask (stream Meta) returns (Meta);
}
"""
WRITTEN = """syntax = "proto2";
package shop.v1;

import "google/protobuf/descriptor.proto";
import public "google/protobuf/any.proto";

option java_package = "com.shop";
option (flag) = true;

message Meta {
  optional string doc = 1;
  repeated int32 n = 2;
}
message Order {
  reserved 5, 8 to 10, 100 to max;
  reserved "old", "older";

  option deprecated = true;

  required int64 id = 1;
  optional string note = 2 [
    deprecated = true,
    default = "a\\"b\\n",
    json_name = "Note"
  ];
  repeated .shop.v1.Order.Line lines = 3 [(meta) = {
    doc: "x",
    n: [
      1,
      2
    ]
  }];
  map<string, Kind> kinds = 4;

  oneof paid {
    bytes cash = 6;
    Line card = 7;
  }

  extensions 20 to 30;

  message Line {
    optional Kind kind = 1 [default = NEW];
  ~
    enum Deep {
      ZERO = 0;
    }
  }
  enum Kind {
    option allow_alias = true;
    NEW = 0;
    ALSO = 0;
    OLD = 2 [deprecated = true];
  }
}

extend google.protobuf.FileOptions {
  optional bool flag = 50001;
}
extend google.protobuf.FieldOptions {
  optional Meta meta = 50002;
}

service Shop {
  rpc Buy (Order) returns (stream Order) {
    option deprecated = true;
  };
  rpc Ask (stream Meta) returns (Meta);
}
""".replace("~", "")  # an empty line is indented too


def compiled(text: str, folder: Path) -> Any:
    """By protoc."""
    (folder / "x.proto").write_text(text)
    out = folder / "out"
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}"),
            *(f"--descriptor_set_out={out}", "x.proto"),
        ],
        check=True,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]


def test_a_file_is_written_in_one_way() -> None:
    assert text_of(parse_file(EVERYTHING)) == WRITTEN
    assert text_of(parse_file(WRITTEN)) == WRITTEN


def test_protoc_compiles_each_form_to_the_same(tmp_path: Path) -> None:
    file = parse_file(EVERYTHING)
    written = compiled(text_of(file), tmp_path)
    asked = compiled(EVERYTHING, tmp_path)
    for one in (written, asked):  # their order in the file says nothing
        del one.extension[:], one.message_type[0:0]
    assert written == asked
    normal = compiled(normal_text(file, Names(file, {})), tmp_path)
    messages = [one.name for one in normal.message_type]
    assert messages == [one.name for one in asked.message_type]
    fields = [one.name for one in normal.message_type[1].field]
    assert sorted(fields) == sorted(one.name for one in asked.message_type[1].field)


def test_a_descriptor_is_the_same_file(tmp_path: Path) -> None:
    text = """syntax = "proto3";
package p;

message M {
  optional string a = 1;
  repeated int32 b = 2 [packed = false];
  map<string, .p.M> c = 3;

  oneof o {
    .p.M d = 4;
    .p.E e = 5;
  }
}
enum E {
  ZERO = 0;
}
"""
    sent = base64.b64encode(compiled(text, tmp_path).SerializeToString()).decode()
    file = file_of(sent)
    assert file is not None
    assert text_of(file) == text
    assert parse(sent, {}, True).text == text
    assert file_of("bm9uc2Vuc2U=") is None


def test_order_and_spelling_vanish_in_the_normal_form() -> None:
    one = 'syntax = "proto3"; package p; message M { M b = 2; string a = 1; } enum E { Z = 0; }'
    two = 'syntax = "proto3"; package p; message M { string a = 1; .p.M b = 2; } enum E { Z = 0; }'
    texts = {parse(text, {}, True).normal().text for text in (one, two)}
    assert len(texts) == 1
    assert ".p.M b = 2;" in texts.pop()


@pytest.mark.parametrize(
    "text",
    [
        "message",
        "message M {",
        "message M { string a = 0; }",
        "message M { string = 1; }",
        'syntax = "proto9";',
        "message M { string a = 1 [x]; }",
        "@",
        "enum E { A = x; }",
    ],
)
def test_what_is_no_file_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(NotASchema):
        parse(text, {}, True)


HEAD = 'syntax = "proto3"; package p; '
CASES = [
    ("message M {}", "message M { int32 a = 1; }", ["FIELD_ADDED #/M/1"]),
    ("message M { int32 a = 1; }", "message M {}", ["FIELD_REMOVED #/M/1"]),
    ("message M { int32 a = 1; }", "message M { int64 b = 1; }", ["FIELD_NAME_CHANGED #/M/1"]),
    (
        "message M { int32 a = 1; }",
        "message M { sint32 a = 1; }",
        ["FIELD_SCALAR_KIND_CHANGED #/M/1"],
    ),
    ("message M { int32 a = 1; }", "message M { M a = 1; }", ["FIELD_KIND_CHANGED #/M/1"]),
    ("message M {} message N {}", "message M {}", ["MESSAGE_REMOVED #/N"]),
    (
        "message M {} message N {}",
        "message N {} message M {}",
        ["MESSAGE_MOVED #/M", "MESSAGE_MOVED #/N"],
    ),
    (
        "message M { optional int32 a = 1; }",
        "message M { repeated int32 a = 1; }",
        ["FIELD_NUMERIC_LABEL_CHANGED #/M/1"],
    ),
    (
        "message M { optional string a = 1; }",
        "message M { repeated string a = 1; }",
        ["FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1"],
    ),
    (
        "message M { int32 a = 1; int32 b = 2; }",
        "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o", "ONEOF_ADDED #/M/o"],
    ),
    (
        "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        "message M { oneof o { int32 a = 1; } }",
        ["ONEOF_FIELD_REMOVED #/M/o/2"],
    ),
    (
        "message M { oneof o { int32 a = 1; } int32 b = 2; }",
        "message M { oneof o { int32 a = 1; int32 b = 2; } }",
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/M/o"],
    ),
    (
        "message M { map<string, int32> a = 1; }",
        "message M { map<string, string> a = 1; }",
        ["FIELD_SCALAR_KIND_CHANGED #/M/1"],
    ),
    (
        "enum E { A = 0; }",
        "enum E { B = 0; C = 1; }",
        ["ENUM_CONST_ADDED #/E/1", "ENUM_CONST_CHANGED #/E/0"],
    ),
    (
        "message M { E a = 1; } enum E { A = 0; }",
        "message M { int32 a = 1; }",
        ["ENUM_REMOVED #/E"],
    ),
    (
        "message M { message N { int32 a = 1; } N n = 1; }",
        "message M { message N { string a = 1; } N n = 1; }",
        ["FIELD_SCALAR_KIND_CHANGED #/M/N/1"],
    ),
]


def side(text: str, references: dict[str, str] | None = None) -> Side:
    file = parse_file(text)
    others = {name: parse_file(one) for name, one in (references or {}).items()}
    return Side(file, Names(file, others), references or {})


@pytest.mark.parametrize(("older", "newer", "expected"), CASES)
def test_each_change_is_of_its_kind(older: str, newer: str, expected: list[str]) -> None:
    found = all_differences(side(HEAD + older), side(HEAD + newer))
    assert sorted(f"{one.kind} #/{'/'.join(one.path)}" for one in found) == sorted(expected)


def test_a_change_of_package_is_one() -> None:
    found = all_differences(side("package a; message M {}"), side("package b; message M {}"))
    assert [one.kind for one in found] == ["PACKAGE_CHANGED"]


def test_a_change_in_a_reference_is_found() -> None:
    user = 'syntax = "proto3"; import "r.proto"; message M { other.R r = 1; }'
    referred = 'syntax = "proto3"; package other; message R {{ {} a = 1; }}'
    older = side(user, {"r.proto": referred.format("int32")})
    newer = side(user, {"r.proto": referred.format("string")})
    assert not differences(older, older)
    assert [one.kind for one in differences(older, newer)] == [
        "FIELD_SCALAR_KIND_CHANGED",
        "FIELD_NAMED_TYPE_CHANGED",
    ]


# --- drawn files

TYPES = {"int32": 5, "int64": 3, "bool": 8, "sint32": 17, "string": 9, "double": 1, "fixed32": 7}


def drawn(dice: Random) -> dict[int, str]:
    return {tag: dice.choice(list(TYPES)) for tag in range(1, 5) if dice.random() < 0.7}


def message_class(fields: dict[int, str]) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="d.proto", syntax="proto3")
    message = file.message_type.add(name="M")
    for tag, kind in fields.items():
        message.field.add(name=f"f{tag}", number=tag, type=TYPES[kind], label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("M"))


def text_with(fields: dict[int, str]) -> str:
    held = " ".join(f"{kind} f{tag} = {tag};" for tag, kind in fields.items())
    return f'syntax = "proto3"; message M {{ {held} }}'


def filled(kind: Any, fields: dict[int, str], dice: Random) -> Any:
    message = kind()
    for tag, name in fields.items():
        value: Any = dice.randrange(2) if name == "bool" else dice.randrange(1, 1000)
        setattr(message, f"f{tag}", str(value) if name == "string" else value)
    return message


def test_what_is_called_compatible_is_read_by_protobufs_own_runtime() -> None:
    assert compared(range(400)) > 30


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ten_thousand_pairs_are_read_by_protobufs_own_runtime() -> None:
    found = compared(range(10_000, 20_000))
    print("compatible of 10,000:", found)
    assert found > 750


def compared(seeds: range) -> int:
    """How many pairs are called compatible; of each, bytes of the old are read by the new."""
    compatible = 0
    for seed in seeds:
        dice = Random(seed)
        older = drawn(dice)
        newer = {**older, **drawn(dice)} if dice.random() < 0.5 else drawn(dice)
        if differences(side(text_with(older)), side(text_with(newer))):
            continue
        compatible += 1
        raw = filled(message_class(older), older, dice).SerializeToString()
        try:
            read = message_class(newer).FromString(raw)
        except DecodeError as error:
            raise AssertionError(f"seed {seed}: {older} {newer}") from error
        for tag in older.keys() & newer.keys():
            if older[tag] != "bool" != newer[tag]:
                written = message_class(older).FromString(raw)
                assert getattr(read, f"f{tag}") == getattr(written, f"f{tag}"), seed
    return compatible
