import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Does what each line asks of Connect's own classes, and writes a line about what came of it. */
public class RecordOracle {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      ObjectNode answer;
      try {
        answer = answered(JSON.readTree(line));
      } catch (Throwable error) {
        answer = JSON.createObjectNode();
        answer.put("error", error.getClass().getName());
        answer.put("message", error.getMessage());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private static ObjectNode answered(JsonNode asked) throws Exception {
    Class<?> type = Class.forName(asked.get("class").asText());
    Object plugin = type.getDeclaredConstructor().newInstance();
    Map<String, String> config = new HashMap<>();
    asked.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
    switch (asked.get("do").asText()) {
      case "transform": return transformed(plugin, config, asked);
      case "predicate": return tested(plugin, config, asked);
      case "write": return written(plugin, config, asked);
      case "read": return read(plugin, config, asked);
      case "write header": return writtenHeader(plugin, config, asked);
      default: return readHeader(plugin, config, asked);
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static ObjectNode transformed(Object plugin, Map<String, String> config, JsonNode asked) {
    Transformation transformation = (Transformation) plugin;
    transformation.configure(config);
    ConnectRecord result = (ConnectRecord) transformation.apply(record(asked.get("record")));
    ObjectNode answer = JSON.createObjectNode();
    answer.set("record", result == null ? JSON.nullNode() : shown(result));
    return answer;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static ObjectNode tested(Object plugin, Map<String, String> config, JsonNode asked) {
    Predicate predicate = (Predicate) plugin;
    predicate.configure(config);
    return JSON.createObjectNode().put("test", predicate.test(record(asked.get("record"))));
  }

  private static ObjectNode written(Object plugin, Map<String, String> config, JsonNode asked) {
    Converter converter = (Converter) plugin;
    converter.configure(config, asked.get("key").asBoolean());
    Schema schema = schema(asked.get("schema"));
    return bytes(converter.fromConnectData("t", schema, value(asked.get("value"))));
  }

  private static ObjectNode read(Object plugin, Map<String, String> config, JsonNode asked) {
    Converter converter = (Converter) plugin;
    converter.configure(config, asked.get("key").asBoolean());
    return both(converter.toConnectData("t", data(asked.get("data"))));
  }

  private static ObjectNode writtenHeader(Object plugin, Map<String, String> config, JsonNode asked) {
    HeaderConverter converter = (HeaderConverter) plugin;
    config.put("converter.type", "header");
    converter.configure(config);
    Schema schema = schema(asked.get("schema"));
    return bytes(converter.fromConnectHeader("t", "h", schema, value(asked.get("value"))));
  }

  private static ObjectNode readHeader(Object plugin, Map<String, String> config, JsonNode asked) {
    HeaderConverter converter = (HeaderConverter) plugin;
    config.put("converter.type", "header");
    converter.configure(config);
    return both(converter.toConnectHeader("t", "h", data(asked.get("data"))));
  }

  static byte[] data(JsonNode node) {
    return node.isNull() ? null : Base64.getDecoder().decode(node.asText());
  }

  private static ObjectNode bytes(byte[] data) {
    ObjectNode answer = JSON.createObjectNode();
    answer.put("data", data == null ? null : Base64.getEncoder().encodeToString(data));
    return answer;
  }

  static ObjectNode both(SchemaAndValue found) {
    ObjectNode answer = JSON.createObjectNode();
    answer.set("schema", shown(found == null ? null : found.schema()));
    answer.set("value", shownValue(found == null ? null : found.value()));
    return answer;
  }

  private static ConnectRecord<?> record(JsonNode node) {
    ConnectHeaders headers = new ConnectHeaders();
    for (JsonNode one : node.get("headers")) {
      headers.add(one.get(0).asText(), new SchemaAndValue(schema(one.get(1)), value(one.get(2))));
    }
    Integer partition = node.get("partition").isNull() ? null : node.get("partition").asInt();
    Long timestamp = node.get("timestamp").isNull() ? null : node.get("timestamp").asLong();
    String topic = node.get("topic").asText();
    Schema keySchema = schema(node.get("key_schema"));
    Schema valueSchema = schema(node.get("value_schema"));
    Object key = value(node.get("key"));
    Object value = value(node.get("value"));
    if (node.get("offset").isNull()) {
      return new SourceRecord(null, null, topic, partition, keySchema, key, valueSchema, value,
          timestamp, headers);
    }
    return new SinkRecord(topic, partition == null ? 0 : partition, keySchema, key, valueSchema,
        value, node.get("offset").asLong(), timestamp, TimestampType.CREATE_TIME, headers);
  }

  private static ObjectNode shown(ConnectRecord<?> record) {
    ObjectNode node = JSON.createObjectNode();
    node.put("topic", record.topic());
    node.put("partition", record.kafkaPartition());
    node.put("timestamp", record.timestamp());
    node.set("key_schema", shown(record.keySchema()));
    node.set("key", shownValue(record.key()));
    node.set("value_schema", shown(record.valueSchema()));
    node.set("value", shownValue(record.value()));
    ArrayNode headers = node.putArray("headers");
    for (Header one : record.headers()) {
      headers.addArray().add(one.key()).add(shown(one.schema())).add(shownValue(one.value()));
    }
    return node;
  }

  // --- schemas: {"type", "optional", "name", "version", "doc", "parameters", "fields", ...}

  static Schema schema(JsonNode node) {
    if (node == null || node.isNull()) {
      return null;
    }
    Schema.Type type = Schema.Type.valueOf(node.get("type").asText());
    SchemaBuilder builder;
    switch (type) {
      case ARRAY:
        builder = SchemaBuilder.array(schema(node.get("values")));
        break;
      case MAP:
        builder = SchemaBuilder.map(schema(node.get("keys")), schema(node.get("values")));
        break;
      default:
        builder = new SchemaBuilder(type);
    }
    for (JsonNode field : node.path("fields")) {
      builder.field(field.get(0).asText(), schema(field.get(1)));
    }
    if (node.path("optional").asBoolean()) {
      builder.optional();
    }
    if (node.hasNonNull("name")) {
      builder.name(node.get("name").asText());
    }
    if (node.hasNonNull("version")) {
      builder.version(node.get("version").asInt());
    }
    if (node.hasNonNull("doc")) {
      builder.doc(node.get("doc").asText());
    }
    node.path("parameters").fields()
        .forEachRemaining(e -> builder.parameter(e.getKey(), e.getValue().asText()));
    if (node.hasNonNull("default")) {
      builder.defaultValue(value(node.get("default"), type == Schema.Type.STRUCT ? builder : null));
    }
    return builder.build();
  }

  static JsonNode shown(Schema schema) {
    if (schema == null) {
      return JSON.nullNode();
    }
    ObjectNode node = JSON.createObjectNode();
    node.put("type", schema.type().name());
    if (schema.isOptional()) node.put("optional", true);
    if (schema.name() != null) node.put("name", schema.name());
    if (schema.version() != null) node.put("version", schema.version());
    if (schema.doc() != null) node.put("doc", schema.doc());
    if (schema.parameters() != null && !schema.parameters().isEmpty()) {
      ObjectNode parameters = node.putObject("parameters");
      schema.parameters().forEach(parameters::put);
    }
    switch (schema.type()) {
      case STRUCT:
        ArrayNode fields = node.putArray("fields");
        for (Field field : schema.fields()) {
          fields.addArray().add(field.name()).add(shown(field.schema()));
        }
        break;
      case MAP:
        node.set("keys", shown(schema.keySchema()));
        node.set("values", shown(schema.valueSchema()));
        break;
      case ARRAY:
        node.set("values", shown(schema.valueSchema()));
        break;
      default:
    }
    if (schema.defaultValue() != null) node.set("default", shownValue(schema.defaultValue()));
    return node;
  }

  // --- values: null, or an object whose one field names the Java class

  static Object value(JsonNode node) {
    return value(node, null);
  }

  private static Object value(JsonNode node, Schema own) {
    if (node == null || node.isNull()) {
      return null;
    }
    String kind = node.fieldNames().next();
    JsonNode held = node.get(kind);
    switch (kind) {
      case "boolean": return held.asBoolean();
      case "byte": return (byte) held.asInt();
      case "short": return (short) held.asInt();
      case "int": return held.asInt();
      case "long": return Long.parseLong(held.asText());
      case "float": return Float.intBitsToFloat(Integer.parseUnsignedInt(held.asText(), 16));
      case "double": return Double.longBitsToDouble(Long.parseUnsignedLong(held.asText(), 16));
      case "string": return held.asText();
      case "bytes": return Base64.getDecoder().decode(held.asText());
      case "decimal": return new BigDecimal(held.asText());
      case "date": return new java.util.Date(held.asLong());
      case "list":
        List<Object> list = new ArrayList<>();
        for (JsonNode one : held) list.add(value(one));
        return list;
      case "map":
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode one : held) map.put(value(one.get(0)), value(one.get(1)));
        return map;
      default:
        Struct struct = new Struct(own != null ? own : schema(held.get("schema")));
        held.get("values").fields()
            .forEachRemaining(e -> struct.put(e.getKey(), value(e.getValue())));
        return struct;
    }
  }

  private static JsonNode shownValue(Object value) {
    ObjectNode node = JSON.createObjectNode();
    if (value == null) return JSON.nullNode();
    if (value instanceof Boolean) return node.put("boolean", (Boolean) value);
    if (value instanceof Byte) return node.put("byte", (Byte) value);
    if (value instanceof Short) return node.put("short", (Short) value);
    if (value instanceof Integer) return node.put("int", (Integer) value);
    if (value instanceof Long) return node.put("long", value.toString());
    if (value instanceof Float) {
      return node.put("float", String.format("%08x", Float.floatToIntBits((Float) value)));
    }
    if (value instanceof Double) {
      return node.put("double", String.format("%016x", Double.doubleToLongBits((Double) value)));
    }
    if (value instanceof String) return node.put("string", (String) value);
    if (value instanceof byte[]) {
      return node.put("bytes", Base64.getEncoder().encodeToString((byte[]) value));
    }
    if (value instanceof ByteBuffer) return shownValue(((ByteBuffer) value).array());
    if (value instanceof BigDecimal) return node.put("decimal", value.toString());
    if (value instanceof java.util.Date) return node.put("date", ((java.util.Date) value).getTime());
    if (value instanceof List) {
      ArrayNode list = node.putArray("list");
      for (Object one : (List<?>) value) list.add(shownValue(one));
      return node;
    }
    if (value instanceof Map) {
      ArrayNode map = node.putArray("map");
      ((Map<?, ?>) value).forEach((key, one) ->
          map.addArray().add(shownValue(key)).add(shownValue(one)));
      return node;
    }
    Struct struct = (Struct) value;
    ObjectNode held = node.putObject("struct");
    held.set("schema", shown(struct.schema()));
    ObjectNode values = held.putObject("values");
    for (Field field : struct.schema().fields()) {
      values.set(field.name(), shownValue(struct.getWithoutDefault(field.name())));
    }
    return node;
  }
}
