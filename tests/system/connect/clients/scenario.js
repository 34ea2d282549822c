// kafka-connect-client from npm: arguments are the port, a file and a topic. Prints JSON.
const { KafkaConnectClient } = require("kafka-connect-client");

const [port, file, topic] = process.argv.slice(2);
const config = {
  "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
  "tasks.max": "1",
  file,
  topic,
};

async function main() {
  const client = new KafkaConnectClient({ host: "127.0.0.1", port });
  const one = client.connector("by-node");
  const until = async (state) => {
    for (const end = Date.now() + 60000; Date.now() < end; ) {
      // A status is there a moment after the connector.
      const { connector, tasks } = await one.getStatus().then(({ data }) => data, () => ({ tasks: [] }));
      if (connector === undefined) continue;
      const all = [connector.state, ...tasks.map((task) => task.state)];
      if (all.every((found) => found === state) && (state === "STOPPED" || tasks.length)) return all;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`it does not become ${state}`);
  };
  const refused = (call) => call.then(() => null, ({ response }) => [response.status, response.data.message]);
  const seen = { cluster: Object.keys((await client.getCluster()).data).sort() };
  const created = await client.createConnector("by-node", config);
  seen.created = [created.status, created.data.name, created.data.type, created.headers.location];
  seen.running = await until("RUNNING");
  seen.again = await refused(client.createConnector("by-node", config));
  seen.connectors = (await client.getConnectors()).data;
  seen.got = (await one.get()).data;
  seen.updated = (await one.updateConfig({ ...config, "batch.size": "7" })).status;
  seen.config = (await one.getConfig()).data;
  const isNew = (task) => "batch.size" in task.config; // a moment after the connector
  while (!(await one.getTasks()).data.every(isNew)) await new Promise((resolve) => setTimeout(resolve, 50));
  await until("RUNNING");
  seen.tasks = (await one.getTasks()).data.map((task) => [task.id, task.config["batch.size"]]);
  seen.task = (await one.getTaskStatus(0)).data.state;
  seen.restarted = (await one.restart({ includeTasks: true })).status;
  await until("RUNNING");
  // Requests without a body name a form as their content, which Connect takes from nobody.
  seen.forms = [];
  for (const call of ["pause", "resume", "stop"]) seen.forms.push(await refused(one[call]()));
  seen.forms.push(await refused(one.restartTask(0)), await refused(one.resetTopics()));
  seen.early = await refused(one.alterOffsets([{ partition: { filename: file }, offset: { position: 2 } }]));
  await fetch(`http://127.0.0.1:${port}/connectors/by-node/stop`, { method: "PUT" });
  seen.stopped = await until("STOPPED");
  const at = (position) => [{ partition: { filename: file }, offset: { position } }];
  seen.altered = (await one.alterOffsets(at(2))).data;
  seen.offsets = (await one.getOffsets()).data;
  seen.reset = (await one.resetOffsets()).data;
  seen.none = (await one.getOffsets()).data;
  const plugins = (await client.getConnectorPlugins({ connectorsOnly: true })).data;
  seen.plugin = plugins.filter((plugin) => plugin.class === config["connector.class"]).map(({ type }) => type);
  const checked = (await client.validateConnectorConfig("FileStreamSource", { ...config, "tasks.max": "x" })).data;
  seen.errors = [checked.error_count, checked.configs.find(({ value }) => value.name === "tasks.max").value.errors];
  seen.deleted = (await one.delete()).status;
  do seen.unknown = await refused(one.getStatus()); // it goes a moment after the connector
  while (seen.unknown === null);
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
