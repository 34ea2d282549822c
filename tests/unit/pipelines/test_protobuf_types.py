"""Messages as columns, columns as messages: descriptors and texts, without Spark."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from pyspark.sql import types as t

from ottla.client.protobuf_files import frame_indexes, indexes_of, message_of
from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.protobuf_schemas import numbers_of, text_of
from ottla.pipelines.formats.protobuf_types import columns, plan

Field = descriptor_pb2.FieldDescriptorProto


def file_of(*messages: Any) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    file.message_type.extend(messages)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindFileByName("a.proto")


def message(name: str, *fields: Any, **more: Any) -> Any:
    return descriptor_pb2.DescriptorProto(name=name, field=fields, **more)


def field(name: str, number: int, kind: Any, type_name: str | None = None, label: Any = 1) -> Any:
    return Field(name=name, number=number, type=kind, type_name=type_name, label=label)


def test_a_message_has_columns_of_its_fields_and_a_plan_that_names_other_messages_once() -> None:
    inner = message("Inner", field("n", 1, Field.TYPE_FIXED64))
    outer = message(
        "Outer",
        field("one", 1, Field.TYPE_MESSAGE, ".a.Inner"),
        field("many", 2, Field.TYPE_MESSAGE, ".a.Inner", 3),
        field("u", 3, Field.TYPE_UINT32),
    )
    found = message_of(file_of(inner, outer), "Outer")
    assert [(one.name, one.type) for one in columns(found)] == [
        ("one", "STRUCT<`n`: DECIMAL(20, 0)>"),
        ("many", "ARRAY<STRUCT<`n`: DECIMAL(20, 0)>>"),
        ("u", "BIGINT"),
    ]
    made = plan(found)
    assert [one["name"] for one in made] == ["a.Outer", "a.Inner"]
    assert [one["type"] for one in made[0]["fields"]] == [1, 1, -1]
    assert [one["default"] for one in made[0]["fields"]] == [None, None, "0"]


def test_a_message_that_contains_itself_has_no_columns() -> None:
    tree = message("Tree", field("branches", 1, Field.TYPE_MESSAGE, ".a.Tree", 3))
    with pytest.raises(NotReadable, match=r"a\.Tree contains itself"):
        columns(message_of(file_of(tree), None))


def test_the_place_of_a_message_is_told_as_frames_have_it() -> None:
    second = message("Second", nested_type=[message("X"), message("Y")])
    file = file_of(message("First"), second)
    places = {name: indexes_of(message_of(file, name)) for name in ("First", "a.Second.Y")}
    assert places == {"First": [0], "a.Second.Y": [1, 1]}
    assert frame_indexes([0]) == b"\0"
    assert frame_indexes([1, 1]) == b"\x04\x02\x02"
    assert frame_indexes([100]) == b"\x02\xc8\x01"


def test_columns_become_a_message_in_which_names_keep_their_numbers() -> None:
    row = t.StructType(
        [
            t.StructField("b", t.StringType()),
            t.StructField("a", t.LongType(), nullable=False),
            t.StructField("at", t.ArrayType(t.TimestampType())),
            t.StructField("inner", t.StructType([t.StructField("x", t.IntegerType())])),
        ]
    )
    assert text_of(row.fields, "shop.Made", {"": {"a": 1, "gone": 2}, ".InnerRow": {"x": 7}}) == (
        'syntax = "proto3";\n'
        "package shop;\n"
        'import "google/protobuf/timestamp.proto";\n'
        "\n"
        "message Made {\n"
        "  message InnerRow {\n"
        "    optional int32 x = 7;\n"
        "  }\n"
        "  optional string b = 3;\n"
        "  int64 a = 1;\n"
        "  repeated google.protobuf.Timestamp at = 4;\n"
        "  InnerRow inner = 5;\n"
        "  reserved 2;\n"
        "}\n"
    )
    with pytest.raises(NotWritable, match="no list of lists"):
        text_of([t.StructField("x", t.ArrayType(t.ArrayType(t.LongType())))], "M", {})
    with pytest.raises(NotWritable, match="no type for"):
        text_of([t.StructField("x", t.TimestampNTZType())], "M", {})


def test_numbers_out_of_use_are_known_from_what_is_reserved() -> None:
    made = message("M", field("a", 3, Field.TYPE_BOOL))
    made.reserved_range.add(start=1, end=3)
    found = numbers_of(message_of(file_of(made), None))
    assert set(found[""].values()) == {1, 2, 3}
