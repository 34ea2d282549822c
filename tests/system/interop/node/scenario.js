// usage: node scenario.js BOOTSTRAP NAME; prints one JSON object about a topic made, filled and read.
const path = require("path");
const { Kafka, CompressionTypes, logLevel } = require(
  path.join(process.env.NODE_MODULES, "kafkajs")
);

async function main(bootstrap, name) {
  const kafka = new Kafka({ brokers: [bootstrap], clientId: "node", logLevel: logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: name, numPartitions: 1 }], waitForLeaders: true });

  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  const offsets = [];
  for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
    const messages = [0, 1, 2].map((n) => ({
      key: "k",
      value: `${compression} ${n}`,
      headers: { h: "v" },
    }));
    const [sent] = await producer.send({ topic: name, compression, messages });
    offsets.push(Number(sent.baseOffset));
  }
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: name });
  await consumer.connect();
  await consumer.subscribe({ topic: name, fromBeginning: true });
  const values = [];
  await new Promise((done) =>
    consumer.run({
      eachMessage: async ({ message }) => {
        values.push(message.value.toString());
        if (values.length === 6) done();
      },
    })
  );
  await consumer.disconnect();
  const [committed] = await admin.fetchOffsets({ groupId: name, topics: [name] });
  await admin.deleteTopics({ topics: [name] });
  await admin.disconnect();
  return { offsets, values, committed: Number(committed.partitions[0].offset) };
}

main(...process.argv.slice(2)).then(
  (seen) => console.log(JSON.stringify(seen)),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
