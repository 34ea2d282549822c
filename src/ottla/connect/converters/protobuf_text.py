"""A file of Protobuf as text: what `protobuf_files` makes, and no more. Pure."""

import json
from typing import Any

from ottla.connect.converters.protobuf_files import SCALARS, meta_parameters_of

_REPEATED = 3


def protobuf_text(file: Any) -> str:
    lines = ['syntax = "proto3";']
    if file.package:
        lines.append(f"package {file.package};")
    lines += [f'import "{one}";' for one in file.dependency]
    for one in file.message_type:
        lines += _message(one)
    return "\n".join(lines) + "\n"


def _message(message: Any) -> list[str]:
    inner: list[str] = []
    for one in message.field:
        if not one.HasField("oneof_index") or one.proto3_optional:
            inner.append(_field(one))
    for index, oneof in enumerate(message.oneof_decl):
        members = [
            one
            for one in message.field
            if one.HasField("oneof_index") and one.oneof_index == index and not one.proto3_optional
        ]
        if members:
            inner += [f"oneof {oneof.name} {{", *(f"  {_field(one)}" for one in members), "}"]
    for one in message.nested_type:
        inner += _message(one)
    for one in message.enum_type:
        values = [f"  {held.name} = {held.number};" for held in one.value]
        inner += [f"enum {one.name} {{", *values, "}"]
    return [f"message {message.name} {{", *(f"  {line}" for line in inner), "}"]


def _field(field: Any) -> str:
    label = "repeated " if field.label == _REPEATED else ""
    if field.proto3_optional:
        label = "optional "
    kind = SCALARS.get(field.type) or field.type_name.removeprefix(".")
    said = meta_parameters_of(field.options.SerializeToString())
    pairs = ", ".join(
        f"{{key: {json.dumps(name)}, value: {json.dumps(text)}}}" for name, text in said.items()
    )
    meta = f" [(confluent.field_meta) = {{params: [{pairs}]}}]" if said else ""
    return f"{label}{kind} {field.name} = {field.number}{meta};"
