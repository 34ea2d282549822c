"""A client that nobody here wrote: confluent-kafka's, with its serializers of all three types."""

import json
from typing import Any, cast

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import (
    ConfigCompatibilityLevel,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from system.registry.processes import Registry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}


@pytest.fixture
def client(registry: Registry) -> SchemaRegistryClient:
    """A new one each time: it remembers what it has asked."""
    return SchemaRegistryClient({"url": registry.url})


def of_value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE, [])


def test_avro_records_go_round(client: SchemaRegistryClient) -> None:
    serialize = AvroSerializer(client, json.dumps(ORDER))
    raw = serialize({"id": 7, "note": "é"}, of_value("avro"))
    id = client.get_latest_version("avro-value").schema_id
    assert raw is not None
    assert id is not None
    assert raw[:5] == b"\0" + id.to_bytes(4, "big")
    assert AvroDeserializer(client)(raw, of_value("avro")) == {"id": 7, "note": "é"}


def test_an_evolved_avro_schema_reads_what_was_written_before(client: SchemaRegistryClient) -> None:
    raw = AvroSerializer(client, json.dumps(ORDER))({"id": 7, "note": None}, of_value("evolved"))
    more = {"name": "price", "type": "double", "default": 1.5}
    newer = json.dumps({**ORDER, "fields": [*ORDER["fields"], more]})
    client.register_schema("evolved-value", Schema(newer, "AVRO"))
    read = AvroDeserializer(client, newer)(raw, of_value("evolved"))
    assert read == {"id": 7, "note": None, "price": 1.5}


def test_json_objects_go_round(client: SchemaRegistryClient) -> None:
    serialize = JSONSerializer(json.dumps(PERSON), client)
    raw = serialize({"name": "Kim", "age": 40}, of_value("json"))
    assert client.get_latest_version("json-value").schema.schema_type == "JSON"
    read = JSONDeserializer(json.dumps(PERSON), schema_registry_client=client)
    assert read(raw, of_value("json")) == {"name": "Kim", "age": 40}


def order_class(file: str) -> Any:
    """A message class of a file that exists only here."""
    described = descriptor_pb2.FileDescriptorProto(
        name=file, package=file.removesuffix(".proto"), syntax="proto3"
    )
    message = described.message_type.add(name="Order")
    message.field.add(name="id", number=1, type=3, label=1)
    message.field.add(name="tags", number=2, type=9, label=3)
    inner = message.nested_type.add(name="Line")
    inner.field.add(name="sku", number=1, type=9, label=1)
    message.field.add(
        name="lines", number=3, type=11, label=3, type_name=f".{described.package}.Order.Line"
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    found = pool.FindMessageTypeByName(f"{described.package}.Order")
    return message_factory.GetMessageClass(found)


def test_protobuf_messages_go_round(client: SchemaRegistryClient, registry: Registry) -> None:
    kind = order_class("round.proto")
    sent = kind(id=7, tags=["a", "b"], lines=[{"sku": "x"}])
    raw = ProtobufSerializer(kind, client)(sent, of_value("proto"))
    stored = registry.get("/subjects/proto-value/versions/latest").body
    assert stored["schemaType"] == "PROTOBUF"
    assert "message Order {" in stored["schema"]
    read = ProtobufDeserializer(kind, {}, client)(raw, of_value("proto"))
    assert read == sent


def test_an_id_in_a_header_is_the_schemas_guid(client: SchemaRegistryClient) -> None:
    configured = {"schema.id.serializer": header_schema_id_serializer}
    serialize = AvroSerializer(client, json.dumps(ORDER), conf=configured)
    context = of_value("headed")
    raw = serialize({"id": 7, "note": "long enough"}, context)  # the reader wants six bytes
    ((name, value),) = cast(list[tuple[str, bytes]], context.headers)
    guid = client.get_latest_version("headed-value").guid
    assert name == "__value_schema_id"
    assert value.hex() == "01" + str(guid).replace("-", "")
    fresh = SchemaRegistryClient(client.config())
    assert AvroDeserializer(fresh)(raw, context) == {"id": 7, "note": "long enough"}


def test_a_referenced_schema_is_used_by_name(client: SchemaRegistryClient) -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "long"}]}
    client.register_schema("money", Schema(json.dumps(money), "AVRO"))
    bill = {
        "type": "record",
        "name": "Bill",
        "fields": [{"name": "sum", "type": "shop.Money"}],
    }
    named = [SchemaReference("shop.Money", "money", 1)]
    schema = Schema(json.dumps(bill), "AVRO", named)
    id = client.register_schema("bill-value", schema)
    assert client.lookup_schema("bill-value", schema).schema_id == id
    serialize = AvroSerializer(client, schema)
    raw = serialize({"sum": {"cents": 5}}, of_value("bill"))
    assert AvroDeserializer(client)(raw, of_value("bill")) == {"sum": {"cents": 5}}


def test_an_incompatible_schema_is_refused_with_409(client: SchemaRegistryClient) -> None:
    client.register_schema("strict", Schema(json.dumps(ORDER), "AVRO"))
    changed = {**ORDER, "fields": [{"name": "id", "type": "string"}]}
    newer = Schema(json.dumps(changed), "AVRO")
    assert not client.test_compatibility("strict", newer)
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema("strict", newer)
    assert refused.value.http_status_code == 409
    assert "'/fields/0/type'" in refused.value.error_message


def test_settings_and_deletions_answer_as_the_client_expects(client: SchemaRegistryClient) -> None:
    schema = Schema(json.dumps(ORDER), "AVRO")
    client.register_schema("settled", schema)
    client.set_config(
        "settled", ServerConfig(compatibility=ConfigCompatibilityLevel.FULL_TRANSITIVE)
    )
    level = client.get_config("settled").compatibility_level
    assert level == ConfigCompatibilityLevel.FULL_TRANSITIVE
    client.set_compatibility("settled", "NONE")
    assert client.get_compatibility("settled") == "NONE"
    assert client.delete_subject("settled") == [1]
    assert "settled" not in client.get_subjects()
    assert client.delete_subject("settled", permanent=True) == [1]


def test_metadata_finds_the_version_that_carries_it(client: SchemaRegistryClient) -> None:
    for team in ("red", "blue"):
        fields = [*ORDER["fields"], {"name": team, "type": "int", "default": 0}]
        metadata = Metadata(None, MetadataProperties({"team": team}), None)
        schema = Schema(json.dumps({**ORDER, "fields": fields}), "AVRO", [], metadata)
        client.register_schema("teams", schema)
    found = client.get_latest_with_metadata("teams", {"team": "red"})
    assert found.version == 1
