"""What JsonConverter's envelope says of schemas, beyond what was drawn and written down."""

import json
from typing import Any

import pytest

from ottla.connect.converters.json import JsonConverter
from ottla.connect.data import DECIMAL, DataError


def read(schema: dict[str, Any] | None, payload: Any) -> Any:
    data = json.dumps({"schema": schema, "payload": payload}).encode()
    return JsonConverter({"converter.type": "value"}).to_connect("t", data)


def test_a_default_that_is_no_value_of_its_type_is_refused_where_a_value_is_needed() -> None:
    """Java reads a number as no text: null, which only an optional schema may have."""
    with pytest.raises(DataError, match="Invalid default value"):
        read({"type": "string", "default": 0}, "a")
    schema, value = read({"type": "string", "default": 0, "optional": True}, "a")
    assert (schema.default, value) == (None, "a")


def test_a_zero_has_no_sign_once_it_was_a_decimal() -> None:
    """As with Java, whose exact numbers have none; without an envelope it reads floats."""
    number = {"type": "double"}
    exact = {"type": "bytes", "name": DECIMAL, "parameters": {"scale": "1"}}
    for schema in (None, number, {"type": "float"}, exact):
        _, value = read(schema, -0.0)
        assert (value, str(value)) == (0, "0.0")
    plain = JsonConverter({"converter.type": "value", "schemas.enable": "false"})
    _, value = plain.to_connect("t", b"-0.0")
    assert str(value) == "-0.0"


def test_what_is_wrong_first_is_said() -> None:
    """Keys before values, and what is within a schema before what it lacks itself."""
    empty = {"type": "struct", "fields": []}
    of_numbers = {"type": "map", "keys": {"type": "int8"}, "values": empty}
    with pytest.raises(DataError, match="Invalid null value for required INT8 field"):
        read(of_numbers, [[None, None]])
    with pytest.raises(DataError, match="Schema must contain 'type' field"):
        read({"type": "map", "keys": None, "values": {}}, None)
    field = {"type": "int8", "field": "a"}
    fields = [field, {**field, "parameters": {"p": 1}}]
    with pytest.raises(DataError, match="Schema parameters must have string values"):
        read({"type": "struct", "fields": fields}, None)
