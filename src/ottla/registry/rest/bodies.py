"""JSON in, and JSON out."""

from typing import Any, TypeVar

import msgspec

from ottla.registry.entities import Config, Schema, guid_of
from ottla.serving.errors import RestError

T = TypeVar("T")


def read(body: bytes, kind: type[T]) -> T:
    """400 for what is no JSON, 422 for JSON of another shape; unknown fields are passed over."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise RestError(422, 422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = "The body is empty." if not body else f"The body is no JSON: {error}"
        raise RestError(400, 400, message) from None


def schema_fields(schema: Schema) -> dict[str, Any]:
    return {"subject": schema.subject, "version": schema.version, **_rest(schema)}


def registered_fields(schema: Schema) -> dict[str, Any]:
    fields = _rest(schema)
    return {"id": fields.pop("id"), "version": schema.version, **fields}


def by_id_fields(schema: Schema, text: str, id_max: int | None) -> dict[str, Any]:
    fields = schema_fields(schema)
    del fields["id"]
    fields["schema"] = text
    if id_max is not None:
        fields["maxId"] = id_max
    return fields


def _rest(schema: Schema) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": schema.id,
        "guid": guid_of(schema.digest),
        "schemaType": schema.kind,
    }
    if schema.references:
        fields["references"] = schema.references
    if schema.metadata is not None:
        fields["metadata"] = schema.metadata
    if schema.rules is not None:
        fields["ruleSet"] = schema.rules
    fields["schema"] = schema.text
    if schema.timestamp is not None:
        fields |= {"ts": schema.timestamp, "deleted": schema.deleted}
    return fields


def config_request_fields(config: Config) -> dict[str, Any]:
    """As the request wrote it: there the level has another name."""
    fields: dict[str, Any] = msgspec.to_builtins(config)
    return {("compatibility" if k == "compatibilityLevel" else k): v for k, v in fields.items()}
