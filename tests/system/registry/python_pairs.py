"""confluent-kafka's serializers, plain and asynchronous, as clients that write and read one record.

Their rules run too: CEL's before writing, JSONata's between versions.
"""

import asyncio
import json
from typing import Any, cast

from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry._async.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
)
from confluent_kafka.schema_registry._async.json_schema import (
    AsyncJSONDeserializer,
    AsyncJSONSerializer,
)
from confluent_kafka.schema_registry._async.protobuf import (
    AsyncProtobufDeserializer,
    AsyncProtobufSerializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ID_HEADER = "__value_schema_id"
SCHEMAS = {
    "AVRO": json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}],
        }
    ),
    "JSON": json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Order",
            "type": "object",
            "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
        }
    ),
    "PROTOBUF": (
        'syntax = "proto3";\npackage pairs;\n\nmessage Order {\n'
        "  int64 id = 1;\n  string note = 2;\n}\n"
    ),
}
Task = dict[str, Any]
Answer = dict[str, Any]
CelExecutor.register()
JsonataExecutor.register()


def described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="pairs.proto", package="pairs", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="note", number=2, type=9, label=1)
    return file


def order_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pairs.Order"))


ORDER = order_class()


def _context(task: Task) -> SerializationContext:
    sent = [(ID_HEADER, bytes.fromhex(task["header"]))] if task.get("header") else []
    return SerializationContext(task["topic"], MessageField.VALUE, cast(Any, sent))


def _conf(task: Task) -> dict[str, Any]:
    """As it is written: the id in a header, or with the subject's own schema and its rules."""
    conf: dict[str, Any] = {}
    if task.get("inHeader"):
        conf["schema.id.serializer"] = header_schema_id_serializer
    if task.get("latest"):
        conf |= {"auto.register.schemas": False, "use.latest.version": True}
    return conf


def _written(task: Task, raw: bytes | None, context: SerializationContext) -> Answer:
    headers = dict(cast("list[tuple[str, bytes]]", context.headers or []))
    header = headers.get(ID_HEADER)
    return {"hex": (raw or b"").hex(), "header": None if header is None else header.hex()}


def _row(task: Task) -> Any:
    return ORDER(**task["row"]) if task["kind"] == "PROTOBUF" else task["row"]


def _shown(read: Any) -> Answer:
    return read if isinstance(read, dict) else {"id": read.id, "note": read.note}


def plain(url: str, tasks: list[Task]) -> list[Answer]:
    """By the serializers that block."""
    client = SchemaRegistryClient({"url": url})

    def perform(task: Task) -> Answer:
        kind, context, conf = task["kind"], _context(task), _conf(task)
        text = SCHEMAS[kind]
        if task["do"] == "write":
            made: Any
            if kind == "AVRO":
                made = AvroSerializer(client, None if task.get("latest") else text, conf=conf)
            elif kind == "JSON":
                made = JSONSerializer(text, client, conf=conf)
            else:
                made = ProtobufSerializer(ORDER, client, conf=conf)
            return _written(task, made(_row(task), context), context)
        conf = {"use.latest.version": True} if task.get("latest") else {}
        read: Any
        if kind == "AVRO":
            read = AvroDeserializer(client, conf=conf)
        elif kind == "JSON":
            read = JSONDeserializer(None, schema_registry_client=client, conf=conf)
        else:
            read = ProtobufDeserializer(ORDER, conf, client)
        return _shown(read(bytes.fromhex(task["hex"]), context))

    return [_refused(lambda one=task: perform(one)) for task in tasks]


def _refused(perform: Any) -> Answer:
    try:
        return cast(Answer, perform())
    except Exception as error:  # whatever a client throws is its answer
        return {"refused": str(error)}


def asynchronous(url: str, tasks: list[Task]) -> list[Answer]:
    """By the serializers for event loops."""

    async def perform(client: AsyncSchemaRegistryClient, task: Task) -> Answer:
        kind, context, conf = task["kind"], _context(task), _conf(task)
        text = SCHEMAS[kind]
        if task["do"] == "write":
            made: Any
            if kind == "AVRO":
                made = await AsyncAvroSerializer(
                    client, None if task.get("latest") else text, conf=conf
                )
            elif kind == "JSON":
                made = await AsyncJSONSerializer(text, client, conf=conf)
            else:
                made = await AsyncProtobufSerializer(ORDER, client, conf=conf)
            return _written(task, await made(_row(task), context), context)
        conf = {"use.latest.version": True} if task.get("latest") else {}
        read: Any
        if kind == "AVRO":
            read = await AsyncAvroDeserializer(client, conf=conf)
        elif kind == "JSON":
            read = await AsyncJSONDeserializer(None, schema_registry_client=client, conf=conf)
        else:
            read = await AsyncProtobufDeserializer(ORDER, conf, client)
        return _shown(await read(bytes.fromhex(task["hex"]), context))

    async def every() -> list[Answer]:
        client = AsyncSchemaRegistryClient({"url": url})
        answers: list[Answer] = []
        for task in tasks:
            try:
                answers.append(await perform(client, task))
            except Exception as error:  # whatever a client throws is its answer
                answers.append({"refused": str(error)})
        return answers

    return asyncio.run(every())


def register_ruled(url: str, topic: str, kind: str) -> None:
    """The schema with a rule that a row's id must be more than zero."""
    rule = {"name": "positive", "kind": "CONDITION", "mode": "WRITE", "type": "CEL"}
    rules = {"domainRules": [{**rule, "expr": "message.id > 0"}]}
    fields = {"schema": SCHEMAS[kind], "schemaType": kind, "ruleSet": rules}
    schema = Schema.from_dict(fields)
    SchemaRegistryClient({"url": url}).register_schema(f"{topic}-value", schema)
