import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.avro.AvroSchema;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.SchemaMetadata;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.RestService;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.Config;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import org.apache.flink.avro.shaded.org.apache.avro.Schema;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericData;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericDatumReader;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericDatumWriter;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericRecord;
import org.apache.flink.avro.shaded.org.apache.avro.io.BinaryEncoder;
import org.apache.flink.avro.shaded.org.apache.avro.io.DecoderFactory;
import org.apache.flink.avro.shaded.org.apache.avro.io.EncoderFactory;

/** Confluent's own client in Java: arguments are the registry, a subject and a record in hex. Prints JSON. */
class Scenario {
    static final Map<String, Object> SEEN = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0], subject = arguments[1];
        RestService rest = new RestService(url);
        CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(rest, 100);
        byte[] given = HexFormat.of().parseHex(arguments[2]);
        int id = ByteBuffer.wrap(given, 1, 4).getInt();
        Schema writer = ((AvroSchema) client.getSchemaById(id)).rawSchema();
        GenericRecord read = new GenericDatumReader<GenericRecord>(writer).read(
            null, DecoderFactory.get().binaryDecoder(given, 5, given.length - 5, null));
        SEEN.put("read", read.toString());

        AvroSchema newer = new AvroSchema(writer.toString().replace(
            "\"fields\":[", "\"fields\":[{\"name\":\"java\",\"type\":\"boolean\",\"default\":false},"));
        SEEN.put("compatible", client.testCompatibility(subject, newer));
        int made = client.register(subject, newer);
        SEEN.put("same", made == client.getId(subject, newer));
        SEEN.put("version", client.getVersion(subject, newer));
        SEEN.put("versions", client.getAllVersions(subject));
        SchemaMetadata latest = client.getLatestSchemaMetadata(subject);
        SEEN.put("latest", latest.getId() == made && latest.getVersion() == 2);
        SEEN.put("subjects of it", new ArrayList<>(client.getAllSubjectsById(made)));
        GenericRecord record = new GenericData.Record(newer.rawSchema());
        record.put("java", true);
        record.put("id", 8L);
        record.put("note", "java");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(0);
        out.write(ByteBuffer.allocate(4).putInt(made).array());
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<GenericRecord>(newer.rawSchema()).write(record, encoder);
        encoder.flush();
        SEEN.put("written", HexFormat.of().formatHex(out.toByteArray()));

        SEEN.put("level", client.updateConfig(subject, new Config("FULL")).getCompatibilityLevel()
            + " " + client.getConfig(subject).getCompatibilityLevel());
        AvroSchema broken = new AvroSchema("{\"type\":\"record\",\"name\":\"Order\",\"fields\":["
            + "{\"name\":\"id\",\"type\":\"string\"}]}");
        SEEN.put("messages", !client.testCompatibilityVerbose(subject, broken).isEmpty());
        SEEN.put("refused", code(() -> client.register(subject, broken)));
        SEEN.put("missing", code(() -> client.getLatestSchemaMetadata("nobody")));
        SEEN.put("unknown id", code(() -> client.getSchemaById(123456)));

        AvroSchema named = new AvroSchema(
            "{\"type\":\"record\",\"name\":\"Bill\",\"fields\":[{\"name\":\"order\",\"type\":\"Order\"}]}",
            List.of(new SchemaReference("Order", subject, 2)),
            Collections.singletonMap("Order", newer.canonicalString()), null);
        int bill = client.register(subject + "-bill", named);
        client.reset();
        SEEN.put("referred", ((AvroSchema) client.getSchemaById(bill)).rawSchema().getField("order")
            .schema().getName());

        SEEN.put("mode", client.setMode("READONLY", subject) + " " + client.getMode(subject));
        SEEN.put("read only", code(() -> client.register(subject, broken)));
        client.deleteMode(subject);
        client.deleteSubject(subject + "-bill", false);
        SEEN.put("deleted", client.deleteSubject(subject, false));
        SEEN.put("for good", client.deleteSubject(subject + "-bill", true));
        SEEN.put("softly", client.getAllSubjects(true).contains(subject)
            && !client.getAllSubjects().contains(subject));
        System.out.println(json(SEEN));
    }

    interface Call {
        Object get() throws Exception;
    }

    static Object code(Call call) throws Exception {
        try {
            call.get();
            return 0;
        } catch (RestClientException refused) {
            return refused.getErrorCode();
        }
    }

    static String json(Object value) {
        if (value instanceof Map) {
            List<String> parts = new ArrayList<>();
            ((Map<?, ?>) value).forEach((key, one) -> parts.add("\"" + key + "\":" + json(one)));
            return "{" + String.join(",", parts) + "}";
        }
        if (value instanceof List) {
            List<String> parts = new ArrayList<>();
            ((List<?>) value).forEach(one -> parts.add(json(one)));
            return "[" + String.join(",", parts) + "]";
        }
        return value instanceof String ? "\"" + ((String) value).replace("\"", "\\\"") + "\"" : value.toString();
    }
}
