import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPlugin;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorStatus;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorsWithExpandedMetadata;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.post.PostConnectorRestart;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.InvalidRequestException;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.ResourceNotFoundException;

/** org.sourcelab's client: arguments are the port, a file and a topic. Prints JSON. */
class Scenario {
    static final String NAME = "by-java";
    static final String CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector";
    static final Map<String, Object> SEEN = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        KafkaConnectClient client = new KafkaConnectClient(
            new Configuration("http://127.0.0.1:" + arguments[0]).useRequestTimeoutInSeconds(60));
        Map<String, String> config = new HashMap<>(Map.of(
            "connector.class", CLASS, "tasks.max", "1", "file", arguments[1], "topic", arguments[2]));
        SEEN.put("version", client.getConnectServerVersion().getKafkaClusterId() != null);
        ConnectorDefinition made = client.addConnector(
            NewConnectorDefinition.newBuilder().withName(NAME).withConfig(config).build());
        SEEN.put("created", List.of(made.getName(), made.getType()));
        SEEN.put("running", until(client, "RUNNING"));
        SEEN.put("connectors", client.getConnectors());
        ConnectorsWithExpandedMetadata all = client.getConnectorsWithAllExpandedMetadata();
        SEEN.put("expanded", List.of(
            all.getConnectorNames(), all.getDefinitionForConnector(NAME).getConfig(),
            all.getStatusForConnector(NAME).getTasks().get(0).getState(),
            client.getConnectorsWithExpandedInfo().getAllDefinitions().size(),
            client.getConnectorsWithExpandedStatus().getAllStatuses().size()));
        config.put("batch.size", "7");
        SEEN.put("updated", client.updateConnectorConfig(NAME, config).getConfig().get("batch.size"));
        SEEN.put("config", client.getConnectorConfig(NAME));
        until(client, "RUNNING");
        SEEN.put("tasks", client.getConnectorTasks(NAME).iterator().next().getConfig().get("file"));
        SEEN.put("task", client.getConnectorTaskStatus(NAME, 0).getState());
        SEEN.put("restarted", List.of(
            client.restartConnector(NAME),
            client.restartConnector(new PostConnectorRestart(NAME).withIncludeTasks(true))));
        until(client, "RUNNING");
        SEEN.put("task restarted", client.restartConnectorTask(NAME, 0));
        until(client, "RUNNING");
        SEEN.put("paused", List.of(client.pauseConnector(NAME), until(client, "PAUSED")));
        SEEN.put("resumed", List.of(client.resumeConnector(NAME), until(client, "RUNNING")));
        SEEN.put("stopped", List.of(client.stopConnector(NAME), until(client, "STOPPED")));
        SEEN.put("topics", client.getConnectorTopics(NAME).getName());
        SEEN.put("forgotten", client.resetConnectorTopics(NAME));
        plugins(client, config);
        refusals(client);
        SEEN.put("deleted", client.deleteConnector(NAME));
        SEEN.put("left", client.getConnectors());
        System.out.println(new ObjectMapper().writeValueAsString(SEEN));
    }

    static void plugins(KafkaConnectClient client, Map<String, String> config) {
        for (ConnectorPlugin one : client.getConnectorPlugins()) {
            if (one.getClassName().equals(CLASS)) {
                SEEN.put("plugin", one.getType());
            }
        }
        SEEN.put("errors", client.validateConnectorPluginConfig(
            ConnectorPluginConfigDefinition.newBuilder()
                .withName("FileStreamSourceConnector").withConfig(config)
                .withConfig("tasks.max", "x").withConfig("name", NAME).build()).getErrorCount());
    }

    static void refusals(KafkaConnectClient client) {
        try {
            client.getConnector("unknown");
        } catch (ResourceNotFoundException error) {
            SEEN.put("unknown", error.getMessage());
        }
        try {
            client.addConnector(NewConnectorDefinition.newBuilder()
                .withName("wrong").withConfig("connector.class", CLASS).build());
        } catch (InvalidRequestException error) {
            SEEN.put("wrong", error.getErrorCode());
        }
    }

    static List<String> until(KafkaConnectClient client, String state) throws Exception {
        for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end;) {
            List<String> found = new ArrayList<>();
            try {
                ConnectorStatus status = client.getConnectorStatus(NAME);
                found.add(status.getConnector().get("state"));
                status.getTasks().forEach(task -> found.add(task.getState()));
            } catch (ResourceNotFoundException error) { // a moment after it was made
                Thread.sleep(50);
                continue;
            }
            boolean whole = found.size() > 1 || state.equals("STOPPED");
            if (whole && found.stream().allMatch(state::equals)) {
                return found;
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException("it does not become " + state);
    }
}
