// Confluent's client in JavaScript, with its serializers: reads tasks as JSON, prints an answer to each.
// A task writes or reads one record: {do, kind, topic, row, hex, header, inHeader, latest}.
const sr = require("@confluentinc/schemaregistry");
const pb = require("@bufbuild/protobuf");
const { FileDescriptorSetSchema } = require("@bufbuild/protobuf/wkt");

const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const client = new sr.SchemaRegistryClient({ baseURLs: [given.url] });
const files = pb.createFileRegistry(pb.fromBinary(FileDescriptorSetSchema, Buffer.from(given.descriptor, "hex")));
const order = files.getMessage("pairs.Order");
const VALUE = sr.SerdeType.VALUE;
sr.CelExecutor.register();
sr.JsonataExecutor.register();

const serializers = {
  AVRO: (conf) => new sr.AvroSerializer(client, VALUE, conf),
  JSON: (conf) => new sr.JsonSerializer(client, VALUE, conf),
  PROTOBUF: (conf) => new sr.ProtobufSerializer(client, VALUE, { ...conf, registry: pb.createMutableRegistry(order) }),
};
const deserializers = {
  AVRO: (conf) => new sr.AvroDeserializer(client, VALUE, conf),
  JSON: (conf) => new sr.JsonDeserializer(client, VALUE, conf),
  PROTOBUF: (conf) => new sr.ProtobufDeserializer(client, VALUE, conf),
};

async function write({ kind, topic, row, inHeader, latest }) {
  const conf = inHeader ? { schemaIdSerializer: sr.HeaderSchemaIdSerializer } : {};
  if (!latest && kind !== "PROTOBUF") { // that one makes its schema itself
    await client.register(`${topic}-value`, { schema: given.schemas[kind], schemaType: kind });
  }
  const registers = !latest && kind === "PROTOBUF";
  Object.assign(conf, registers ? { autoRegisterSchemas: true } : { useLatestVersion: true, autoRegisterSchemas: false });
  const message = kind === "PROTOBUF" ? pb.create(order, { id: BigInt(row.id), note: row.note }) : row;
  const headers = {};
  const raw = await serializers[kind](conf).serialize(topic, message, headers);
  const header = headers["__value_schema_id"];
  return { hex: raw.toString("hex"), header: header === undefined ? null : Buffer.from(header).toString("hex") };
}

async function read({ kind, topic, hex, header, latest }) {
  const headers = header ? { __value_schema_id: Buffer.from(header, "hex") } : {};
  const conf = latest ? { useLatestVersion: true } : {};
  const row = await deserializers[kind](conf).deserialize(topic, Buffer.from(hex, "hex"), headers);
  return Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith("$"))
    .map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}

(async () => {
  const answers = [];
  for (const task of given.tasks) {
    try {
      answers.push(await (task.do === "write" ? write : read)(task));
    } catch (error) {
      answers.push({ refused: String(error) });
    }
  }
  console.log(JSON.stringify(answers));
  process.exit(0);
})();
