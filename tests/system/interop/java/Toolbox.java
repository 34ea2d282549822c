import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command-line tools and client scenarios in one virtual machine, because each start of
 * one costs a second. A line of JSON in, a line of JSON out:
 * {"tool": "org.apache.kafka.tools.TopicCommand", "args": [...], "input": "..."}
 *   -> {"exit": 0, "output": "...", "errors": "..."}
 * {"scenario": "produce", "args": {...}} -> {"result": {...}} or {"failure": "..."}
 */
public final class Toolbox {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Unwinds a tool that wants to end the virtual machine. */
    private static final class Left extends RuntimeException { }

    /** The first status a tool asked for: some catch what unwinds them and ask for another. */
    private static Integer status;

    private static void leave(int wanted) {
        if (status == null) {
            status = wanted;
        }
        throw new Left();
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((wanted, message) -> leave(wanted));
        Exit.setHaltProcedure((wanted, message) -> leave(wanted));
        Exit.setShutdownHookAdder((name, runnable) -> { });
        PrintStream replies = System.out;
        BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            Object reply = request.has("tool") ? runTool(request) : runScenario(request);
            replies.println(JSON.writeValueAsString(reply));
            replies.flush();
        }
    }

    private static Map<String, Object> runTool(JsonNode request) throws Exception {
        String[] args = JSON.convertValue(request.get("args"), String[].class);
        String input = request.path("input").asText("");
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        status = null;
        try {
            Class<?> tool = Class.forName(request.get("tool").asText());
            tool.getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Left)) {
                thrown.getCause().printStackTrace(System.err);
                status = 1;
            }
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("exit", status == null ? 0 : status);
        reply.put("output", output.toString(StandardCharsets.UTF_8));
        reply.put("errors", errors.toString(StandardCharsets.UTF_8));
        return reply;
    }

    private static Map<String, Object> runScenario(JsonNode request) throws Exception {
        try {
            String name = request.get("scenario").asText();
            Object result = Scenarios.class
                .getMethod(name, JsonNode.class)
                .invoke(null, request.get("args"));
            return Map.of("result", result);
        } catch (InvocationTargetException thrown) {
            ByteArrayOutputStream trace = new ByteArrayOutputStream();
            thrown.getCause().printStackTrace(new PrintStream(trace));
            return Map.of("failure", trace.toString(StandardCharsets.UTF_8));
        }
    }
}
