import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.RestService;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.SchemaString;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.avro.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.avro.shaded.org.apache.avro.Schema;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericData;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericDatumReader;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericDatumWriter;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericRecord;
import org.apache.flink.avro.shaded.org.apache.avro.io.BinaryEncoder;
import org.apache.flink.avro.shaded.org.apache.avro.io.DecoderFactory;
import org.apache.flink.avro.shaded.org.apache.avro.io.EncoderFactory;

/**
 * Confluent's own client in Java; the bytes behind the frame are Apache Avro's, Jackson's and Google's.
 * Reads tasks as JSON, prints an answer to each: {do, kind, topic, row, hex}.
 */
class Pairs {
    static final ObjectMapper JSON = new ObjectMapper();
    static JsonNode given;
    static RestService registry;
    static Descriptor order;

    public static void main(String[] arguments) throws Exception {
        given = JSON.readTree(System.in);
        registry = new RestService(given.get("url").asText());
        byte[] set = HexFormat.of().parseHex(given.get("descriptor").asText());
        FileDescriptor file = FileDescriptor.buildFrom(
            FileDescriptorSet.parseFrom(set).getFile(0), new FileDescriptor[0]);
        order = file.findMessageTypeByName("Order");
        List<Object> answers = new ArrayList<>();
        for (JsonNode task : given.get("tasks")) {
            answers.add(task.get("do").asText().equals("write") ? write(task) : read(task));
        }
        System.out.println(JSON.writeValueAsString(answers));
    }

    static Object write(JsonNode task) throws Exception {
        String kind = task.get("kind").asText();
        String text = given.get("schemas").get(kind).asText();
        int id = registry.registerSchema(text, kind, List.of(), task.get("topic").asText() + "-value").getId();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(0);
        out.write(ByteBuffer.allocate(4).putInt(id).array());
        long number = task.get("row").get("id").asLong();
        String note = task.get("row").get("note").asText();
        switch (kind) {
            case "AVRO":
                Schema schema = new Schema.Parser().parse(text);
                GenericRecord record = new GenericData.Record(schema);
                record.put("id", number);
                record.put("note", note);
                BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
                new GenericDatumWriter<GenericRecord>(schema).write(record, encoder);
                encoder.flush();
                break;
            case "JSON":
                out.write(JSON.writeValueAsBytes(Map.of("id", number, "note", note)));
                break;
            default:
                out.write(0); // the first message
                DynamicMessage.newBuilder(order)
                    .setField(order.findFieldByName("id"), number)
                    .setField(order.findFieldByName("note"), note).build().writeTo(out);
        }
        return Map.of("hex", HexFormat.of().formatHex(out.toByteArray()));
    }

    static Object read(JsonNode task) throws Exception {
        String kind = task.get("kind").asText();
        byte[] raw = HexFormat.of().parseHex(task.get("hex").asText());
        SchemaString held = registry.getId(ByteBuffer.wrap(raw, 1, 4).getInt());
        if (!kind.equals(held.getSchemaType())) {
            throw new IllegalStateException(held.getSchemaType());
        }
        switch (kind) {
            case "AVRO":
                GenericRecord read = new GenericDatumReader<GenericRecord>(
                    new Schema.Parser().parse(held.getSchemaString())).read(
                        null, DecoderFactory.get().binaryDecoder(raw, 5, raw.length - 5, null));
                return Map.of("id", read.get("id"), "note", read.get("note").toString());
            case "JSON":
                return JSON.readTree(new String(raw, 5, raw.length - 5, StandardCharsets.UTF_8));
            default:
                if (raw[5] != 0) {
                    throw new IllegalStateException("not the first message");
                }
                DynamicMessage made = DynamicMessage.parseFrom(order, Arrays.copyOfRange(raw, 6, raw.length));
                return Map.of("id", made.getField(order.findFieldByName("id")),
                    "note", made.getField(order.findFieldByName("note")));
        }
    }
}
