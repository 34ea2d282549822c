import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/** Of each line with two schemas: their texts, and why the first cannot read the second's data. */
public class AvroOracle {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] pair = line.split("\t", -1);
      Schema reader = parsed(pair[0]);
      Schema writer = parsed(pair[1]);
      out.println("{\"reader\":" + text(reader) + ",\"writer\":" + text(writer)
          + ",\"differences\":" + differences(reader, writer) + "}");
    }
  }

  private static Schema parsed(String text) {
    try {
      Schema.Parser parser = new Schema.Parser(NameValidator.STRICT_VALIDATOR);
      parser.setValidateDefaults(true);
      return parser.parse(text);
    } catch (RuntimeException error) {
      return null;
    }
  }

  private static String text(Schema schema) {
    return schema == null ? "null" : quoted(schema.toString());
  }

  private static String differences(Schema reader, Schema writer) {
    if (reader == null || writer == null) {
      return "null";
    }
    StringBuilder out = new StringBuilder("[");
    try {
      for (SchemaCompatibility.Incompatibility one : SchemaCompatibility
          .checkReaderWriterCompatibility(reader, writer).getResult().getIncompatibilities()) {
        out.append(out.length() > 1 ? "," : "").append("[").append(quoted(one.getType().name()))
            .append(",").append(quoted(one.getLocation())).append(",")
            .append(quoted(one.getMessage())).append("]");
      }
    } catch (RuntimeException ambiguous) {
      return "\"ambiguous\"";
    }
    return out.append("]").toString();
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      if (one == '"' || one == '\\') {
        out.append('\\').append(one);
      } else if (one < ' ') {
        out.append(String.format("\\u%04x", (int) one));
      } else {
        out.append(one);
      }
    }
    return out.append('"').toString();
  }
}
