package ottla;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * JSON records that say which JSON Schema of a registry they have.
 *
 * As an SQL function of one registry: NAME_of(bytes, header, validate, what) is a struct of the JSON,
 * the reason why it is none, and the schema's id. With validate ("true") it must fit the schema that it
 * was written with, by JsonRules; that is fetched once for each JVM. A registry that is away makes the
 * task wait.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class JsonSchemaFrames implements Serializable {
    private static final SchemaRegistry.Known KNOWN = new Rules();
    private static final ObjectMapper JSON = new ObjectMapper()
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

    private final String registry; // URLs with commas between; users and passwords stand in them
    private final boolean validates;
    private final String what; // is read: the key or the value

    JsonSchemaFrames(String registry, boolean validates, String what) {
        this.registry = registry;
        this.validates = validates;
        this.what = what;
    }

    /** The address travels inside the function: in a plan, which Spark shows, a password would be seen. */
    public static void register(SparkSession spark, String name, String registry) {
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            name + "_of", new Decoding(registry), "scala_udf");
    }

    /** Why a text does not fit a schema, or null; `documents` is a JSON object of those it refers to. */
    public static String flaw(String schema, String documents, String text) throws IOException {
        try {
            return new JsonRules(JSON.readTree(schema), named(JSON.readTree(documents))).flaw(JSON.readTree(text));
        } catch (JsonRules.Unjudged error) {
            return "unjudged: " + error.getMessage();
        }
    }

    private static Map named(JsonNode documents) {
        Map found = new HashMap();
        for (java.util.Iterator names = documents.fieldNames(); names.hasNext();) {
            String name = (String) names.next();
            found.put(name, documents.get(name));
        }
        return found;
    }

    public InternalRow decode(byte[] bytes, byte[] header) {
        if (bytes == null) {
            return null;
        }
        SchemaRegistry.Frame frame = SchemaRegistry.frame(bytes, header, this.what);
        if (frame.flaw != null) {
            return because(frame.flaw, null);
        }
        JsonRules found = (JsonRules) KNOWN.of(this.registry, frame);
        if (found == null) {
            return because("the registry has no JSON Schema with the id " + frame.key, null);
        }
        byte[] body = header == null ? Arrays.copyOfRange(bytes, frame.begin, bytes.length) : bytes;
        String flaw = this.validates ? this.flaw(found, body, frame.key)
            : JsonText.isAll(body) ? null : "there is more behind the JSON";
        return flaw == null ? new GenericInternalRow(new Object[] {body, null, frame.id()})
            : because(flaw, frame.id());
    }

    private String flaw(JsonRules rules, byte[] body, String key) {
        try {
            JsonNode value = JSON.readTree(body);
            String flaw = value.isMissingNode() ? "there is no value" : rules.flaw(value);
            return flaw == null ? null : "the " + this.what + " does not fit the schema with the id " + key + ": " + flaw;
        } catch (IOException error) {
            return "the " + this.what + " is not JSON";
        } catch (JsonRules.Unjudged error) {
            return "the schema with the id " + key + " cannot be judged by: " + error.getMessage();
        }
    }

    private static InternalRow because(String reason, Integer id) {
        return new GenericInternalRow(new Object[] {null, UTF8String.fromString(reason), id});
    }

    // --- the registry

    static final class Rules extends SchemaRegistry.Known {
        Object made(String registry, SchemaRegistry.Frame frame) {
            JsonNode told = SchemaRegistry.asked(registry, frame.path());
            if (told == null || !told.has("schemaType") || !SchemaRegistry.text(told, "schemaType").equals("JSON")) {
                return null;
            }
            Map documents = new HashMap();
            try {
                addReferences(registry, documents, told);
                return new JsonRules(JSON.readTree(SchemaRegistry.text(told, "schema")), documents);
            } catch (IOException error) {
                throw new IllegalStateException("the schema registry sends no JSON Schema: " + error.getMessage());
            }
        }
    }

    private static void addReferences(String registry, Map documents, JsonNode told) throws IOException {
        JsonNode references = (JsonNode) told.get("references");
        for (int at = 0; references != null && at < references.size(); at++) {
            JsonNode one = (JsonNode) references.get(at);
            String name = SchemaRegistry.text(one, "name");
            JsonNode held = documents.containsKey(name)
                ? null : SchemaRegistry.asked(registry, SchemaRegistry.referred(one));
            if (held != null) {
                documents.put(name, JSON.readTree(SchemaRegistry.text(held, "schema")));
                addReferences(registry, documents, held);
            }
        }
    }

    // --- as an expression

    static final class Decoding extends AbstractFunction1 implements Serializable {
        private final String registry;

        Decoding(String registry) {
            this.registry = registry;
        }

        public Object apply(Object given) {
            Seq arguments = (Seq) given;
            JsonSchemaFrames frames = new JsonSchemaFrames(
                this.registry, literal(arguments.apply(2)).equals("true"), literal(arguments.apply(3)));
            StructType result = new StructType().add("row", DataTypes.BinaryType)
                .add("reason", DataTypes.StringType).add("id", DataTypes.IntegerType);
            Seq two = CollectionConverters.asScala(
                Arrays.asList(new Object[] {arguments.apply(0), arguments.apply(1)})).toList();
            Seq none = CollectionConverters.asScala(Arrays.asList(new Object[0])).toList();
            return new Invoke(Literal.fromObject(frames), "decode", result, two, none, false, true, true);
        }
    }

    private static String literal(Object literal) {
        return ((Literal) literal).value().toString();
    }
}
