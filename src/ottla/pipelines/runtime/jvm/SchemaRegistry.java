package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;

/**
 * A schema registry, asked from tasks, and the frames of records that name one of its schemas.
 *
 * What is made of a schema is kept. A registry that is away makes the task wait.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class SchemaRegistry {
    private static final long LONGEST_PAUSE_MS = 2000;
    private static final ObjectMapper JSON = new ObjectMapper();

    private SchemaRegistry() {}

    // --- frames

    /** Which schema a record names, and where its own bytes begin; or what is wrong with it. */
    public static final class Frame {
        public final String key; // an id, or a GUID
        public final int begin; // of what comes behind the id, in the header if that bears it
        public final String flaw;

        Frame(String key, int begin, String flaw) {
            this.key = key;
            this.begin = begin;
            this.flaw = flaw;
        }

        public boolean isGuid() {
            return this.key.indexOf('-') > 0;
        }

        public Integer id() {
            return this.isGuid() ? null : Integer.valueOf(this.key);
        }

        public String path() {
            return (this.isGuid() ? "/schemas/guids/" : "/schemas/ids/") + this.key;
        }
    }

    /** `what` is the key or the value. */
    public static Frame frame(byte[] bytes, byte[] header, String what) {
        byte[] frame = header == null ? bytes : header;
        if (frame.length >= 5 && frame[0] == 0) {
            return new Frame(Integer.toString(ByteBuffer.wrap(frame, 1, 4).getInt()), 5, null);
        }
        if (frame.length >= 17 && frame[0] == 1) {
            return new Frame(guid(frame), 17, null);
        }
        return new Frame(null, 0, header == null
            ? "the " + what + " has no frame of a schema registry"
            : "the header with the schema's id is not one of a schema registry");
    }

    private static String guid(byte[] frame) {
        ByteBuffer bytes = ByteBuffer.wrap(frame, 1, 16);
        return new UUID(bytes.getLong(), bytes.getLong()).toString();
    }

    // --- what is made of schemas

    /** Made once for each JVM; where there was no such schema, asked for again after a while. */
    public abstract static class Known {
        private static final long UNKNOWN_FOR_MS = 10000;
        private final Map found = new ConcurrentHashMap(); // by registry and id; a Long: when it was not there

        /** What is made of the schema; null where the registry has none of that kind. */
        abstract Object made(String registry, Frame frame);

        public Object of(String registry, Frame frame) {
            String place = registry + " " + frame.key;
            Object known = this.found.get(place);
            boolean isOld = known instanceof Long
                && System.currentTimeMillis() - ((Long) known).longValue() > UNKNOWN_FOR_MS;
            if (known == null || isOld) {
                Object made = this.made(registry, frame);
                known = made == null ? (Object) Long.valueOf(System.currentTimeMillis()) : made;
                this.found.put(place, known);
            }
            return known instanceof Long ? null : known;
        }
    }

    // --- asking

    public static String text(JsonNode node, String name) {
        return ((JsonNode) node.get(name)).asText();
    }

    /** The path of a version that a reference names; it may have been deleted softly since. */
    public static String referred(JsonNode reference) {
        return "/subjects/" + quoted(text(reference, "subject")) + "/versions/"
            + ((JsonNode) reference.get("version")).asInt() + "?deleted=true";
    }

    private static String quoted(String subject) {
        return URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Null for what is not there; waits while nobody answers. URLs have commas between them. */
    public static JsonNode asked(String registry, String path) {
        String[] urls = registry.split(",");
        long pause = 50;
        while (true) {
            for (int at = 0; at < urls.length; at++) {
                try {
                    return answer(urls[at].trim(), path);
                } catch (IOException away) {
                    // the next one, or all of them again
                }
            }
            TaskContext task = TaskContext.get();
            if (task != null) {
                task.killTaskIfInterrupted();
            }
            try {
                Thread.sleep(pause);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("stopped while the schema registry was away");
            }
            pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
        }
    }

    private static JsonNode answer(String url, String path) throws IOException {
        URI place = URI.create(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
        String user = place.getUserInfo();
        String bare = user == null ? place.toString() : place.toString().replace(place.getRawUserInfo() + "@", "");
        HttpURLConnection connection = (HttpURLConnection) new URL(bare + path).openConnection();
        connection.setConnectTimeout(5000);
        connection.setReadTimeout(15000);
        connection.setRequestProperty("Accept", "application/vnd.schemaregistry.v1+json");
        if (user != null) {
            byte[] pair = user.getBytes(StandardCharsets.UTF_8);
            connection.setRequestProperty(
                "Authorization", "Basic " + Base64.getEncoder().encodeToString(pair));
        }
        int status = connection.getResponseCode();
        if (status == 404) {
            connection.disconnect();
            return null;
        }
        if (status == 401 || status == 403) {
            throw new IllegalStateException("the schema registry does not let us in: " + status);
        }
        if (status != 200) {
            throw new IOException("the schema registry answers with " + status);
        }
        InputStream body = connection.getInputStream();
        try {
            return JSON.readTree(body);
        } finally {
            body.close();
        }
    }
}
