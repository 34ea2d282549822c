import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.confluent.connect.avro.AvroData;
import io.confluent.connect.avro.AvroDataConfig;
import io.confluent.kafka.serializers.NonRecordContainer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.Schema;

/** Asks Confluent's AvroData: a line for each schema and value, one way or the other. */
public class AvroDataOracle {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      ObjectNode answer;
      try {
        JsonNode asked = JSON.readTree(line);
        answer = asked.get("do").asText().equals("avro write") ? written(asked) : read(asked);
      } catch (Throwable error) {
        answer = JSON.createObjectNode();
        answer.put("error", error.getClass().getName());
        answer.put("message", error.getMessage());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private static AvroData data(JsonNode asked) {
    Map<String, String> config = new HashMap<>();
    asked.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
    return new AvroData(new AvroDataConfig(config));
  }

  private static ObjectNode written(JsonNode asked) throws Exception {
    AvroData data = data(asked);
    Schema schema = RecordOracle.schema(asked.get("schema"));
    org.apache.avro.Schema avro = data.fromConnectSchema(schema);
    // What cannot be parsed again would be refused by a registry.
    new org.apache.avro.Schema.Parser().parse(avro.toString());
    Object value = data.fromConnectData(schema, RecordOracle.value(asked.get("value")));
    ObjectNode answer = JSON.createObjectNode();
    answer.put("avro", avro.toString());
    Object plain = value instanceof NonRecordContainer
        ? ((NonRecordContainer) value).getValue() : value;
    if (plain == null) {
      answer.putNull("data");
      return answer;
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (avro.getType() == org.apache.avro.Schema.Type.BYTES) {
      out.write(((ByteBuffer) plain).array());
    } else {
      BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
      new GenericDatumWriter<>(avro).write(plain, encoder);
      encoder.flush();
    }
    answer.put("data", Base64.getEncoder().encodeToString(out.toByteArray()));
    return answer;
  }

  private static ObjectNode read(JsonNode asked) throws Exception {
    org.apache.avro.Schema avro =
        new org.apache.avro.Schema.Parser().parse(asked.get("avro").asText());
    byte[] bytes = RecordOracle.data(asked.get("data"));
    Object value = bytes;
    if (avro.getType() != org.apache.avro.Schema.Type.BYTES) {
      value = new GenericDatumReader<>(avro, avro)
          .read(null, DecoderFactory.get().binaryDecoder(bytes, null));
    }
    Integer version = asked.get("version").isNull() ? null : asked.get("version").asInt();
    return RecordOracle.both(data(asked).toConnectData(avro, value, version));
  }
}
