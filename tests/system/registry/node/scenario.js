// `node scenario.js kafkajs|confluent URL TOPIC HEX`: read what somebody else wrote, write with a newer
// schema, print both as JSON.
const [client, url, topic, hex] = process.argv.slice(2);
const subject = `${topic}-value`;
const text = JSON.stringify({
  type: "record",
  name: "Order",
  fields: [
    { name: "id", type: "long" },
    { name: "note", type: "string", default: "" },
    { name: client, type: "boolean", default: true },
  ],
});
const row = { id: 8, note: "node", [client]: true };
const shown = (read) => ({ id: Number(read.id), note: read.note });

async function kafkajs() {
  const { SchemaRegistry, SchemaType } = require("@kafkajs/confluent-schema-registry");
  const registry = new SchemaRegistry({ host: url });
  const read = await registry.decode(Buffer.from(hex, "hex"));
  const { id } = await registry.register({ type: SchemaType.AVRO, schema: text }, { subject });
  const written = await registry.encode(id, row);
  const latest = await registry.getLatestSchemaId(subject);
  return { read: shown(read), written: written.toString("hex"), same: latest === id };
}

async function confluent() {
  const { SchemaRegistryClient, AvroSerializer, AvroDeserializer, SerdeType } = require("@confluentinc/schemaregistry");
  const registry = new SchemaRegistryClient({ baseURLs: [url] });
  const read = await new AvroDeserializer(registry, SerdeType.VALUE, {}).deserialize(topic, Buffer.from(hex, "hex"));
  const id = await registry.register(subject, { schema: text, schemaType: "AVRO" });
  const serializer = new AvroSerializer(registry, SerdeType.VALUE, { useLatestVersion: true });
  const written = await serializer.serialize(topic, row);
  const latest = await registry.getLatestSchemaMetadata(subject);
  return { read: shown(read), written: written.toString("hex"), same: latest.id === id };
}

({ kafkajs, confluent })[client]().then(
  (seen) => { console.log(JSON.stringify(seen)); process.exit(0); },
  (error) => { console.error(error); process.exit(1); },
);
