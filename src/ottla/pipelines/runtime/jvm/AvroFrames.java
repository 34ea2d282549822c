package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.avro.AvroDeserializer;
import org.apache.spark.sql.avro.AvroSerializer;
import org.apache.spark.sql.avro.SchemaConverters$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Avro records that say which schema of a registry they were written with, as rows and back.
 *
 * As SQL functions of one registry: NAME_of(value, header, texts) reads with the schema in texts (a
 * JSON array; those before the last are what it refers to), whatever the writer's was: a struct of the
 * row, the reason why there is none, and the writer's id. NAME_as(struct, texts, id) writes. The
 * writer's schema is fetched once for each JVM; a registry that is away makes the task wait.
 *
 * Spark brings what turns Avro's values into its own and back; it keeps its states with it.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class AvroFrames implements Serializable {
    private static final Map KNOWN = new ConcurrentHashMap(); // by registry and id: Schema, or when it was not there
    private static final long UNKNOWN_FOR_MS = 10000;
    private static final long LONGEST_PAUSE_MS = 2000;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String registry; // URLs with commas between; users and passwords stand in them
    private final String texts;
    private final int id; // of the schema that is written
    private final DataType type; // of the rows
    private transient ThreadLocal workers;

    AvroFrames(String registry, String texts, int id, DataType type) {
        this.registry = registry;
        this.texts = texts;
        this.id = id;
        this.type = type == null ? SchemaConverters$.MODULE$.toSqlType(parsed(texts)).dataType() : type;
    }

    /** The address travels inside the function: in a plan, which Spark shows, a password would be seen. */
    public static void register(SparkSession spark, String name, String registry) {
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            name + "_of", new Decoding(registry), "scala_udf");
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            name + "_as", new Encoding(registry), "scala_udf");
    }

    /** What Spark makes of a schema, as its DDL. */
    public static String typeOf(String texts) {
        return SchemaConverters$.MODULE$.toSqlType(parsed(texts)).dataType().sql();
    }

    // --- reading

    public InternalRow decode(byte[] value, byte[] header) {
        if (value == null) {
            return null;
        }
        String key;
        int begin = 0;
        if (header != null) {
            if (header.length != 17 || header[0] != 1) {
                return because("the header with the schema's id is not one of a schema registry", null);
            }
            key = guid(header);
        } else if (value.length >= 5 && value[0] == 0) {
            key = Integer.toString(ByteBuffer.wrap(value, 1, 4).getInt());
            begin = 5;
        } else if (value.length >= 17 && value[0] == 1) {
            key = guid(value);
            begin = 17;
        } else {
            return because("the value has no frame of a schema registry", null);
        }
        Object found = this.writer(key);
        if (!(found instanceof Writer)) {
            return because("the registry has no schema with the id " + key, null);
        }
        Writer writer = (Writer) found;
        try {
            return new GenericInternalRow(new Object[] {
                this.worker().row(writer, value, begin), null, writer.id});
        } catch (IOException error) {
            return because("the bytes do not fit the schema with the id " + key, writer.id);
        } catch (RuntimeException error) {
            return because("the bytes do not fit the schema with the id " + key + told(error), writer.id);
        } catch (OutOfMemoryError error) { // a length that is none
            return because("the bytes do not fit the schema with the id " + key, writer.id);
        }
    }

    private static String told(RuntimeException error) {
        boolean isOfAvro = error.getClass().getName().startsWith("org.apache.avro.");
        return isOfAvro && error.getMessage() != null ? ": " + error.getMessage() : "";
    }

    private static InternalRow because(String reason, Integer id) {
        return new GenericInternalRow(new Object[] {null, UTF8String.fromString(reason), id});
    }

    private static String guid(byte[] frame) {
        ByteBuffer bytes = ByteBuffer.wrap(frame, 1, 16);
        return new UUID(bytes.getLong(), bytes.getLong()).toString();
    }

    // --- writing

    public byte[] encode(InternalRow row) {
        return row == null ? null : this.worker().frame(row);
    }

    // --- what each thread has of its own: readers and writers are not shared

    private Worker worker() {
        synchronized (this) {
            if (this.workers == null) {
                this.workers = new ThreadLocal();
            }
        }
        Worker mine = (Worker) this.workers.get();
        if (mine == null) {
            mine = new Worker(parsed(this.texts), this.type, this.id);
            this.workers.set(mine);
        }
        return mine;
    }

    static final class Worker {
        private final Schema schema;
        private final DataType type;
        private final int id;
        private final Map readers = new HashMap();
        private final ByteArrayOutputStream written = new ByteArrayOutputStream();
        private AvroDeserializer rows;
        private AvroSerializer records;
        private GenericDatumWriter writer;
        private BinaryDecoder decoder;
        private BinaryEncoder encoder;

        Worker(Schema schema, DataType type, int id) {
            this.schema = schema;
            this.type = type;
            this.id = id;
        }

        Object row(Writer writer, byte[] value, int begin) throws IOException {
            if (this.rows == null) {
                this.rows = new AvroDeserializer(this.schema, this.type, "CORRECTED", false, "", -1);
            }
            GenericDatumReader reader = (GenericDatumReader) this.readers.get(writer);
            if (reader == null) {
                reader = new GenericDatumReader(writer.schema, this.schema);
                this.readers.put(writer, reader);
            }
            this.decoder = DecoderFactory.get().binaryDecoder(
                value, begin, value.length - begin, this.decoder);
            Object record = reader.read(null, this.decoder);
            if (!this.decoder.isEnd()) {
                throw new IOException("there is more behind the record");
            }
            Option made = this.rows.deserialize(record);
            return made.get();
        }

        byte[] frame(InternalRow row) {
            if (this.records == null) {
                this.records = new AvroSerializer(this.type, this.schema, false);
                this.writer = new GenericDatumWriter(this.schema);
            }
            try {
                this.written.reset();
                this.written.write(0);
                this.written.write(ByteBuffer.allocate(4).putInt(this.id).array());
                this.encoder = EncoderFactory.get().binaryEncoder(this.written, this.encoder);
                this.writer.write(this.records.serialize(row), this.encoder);
                this.encoder.flush();
                return this.written.toByteArray();
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    // --- the registry

    static final class Writer {
        final Schema schema;
        final Integer id; // null where the record bears a GUID

        Writer(Schema schema, Integer id) {
            this.schema = schema;
            this.id = id;
        }
    }

    private Object writer(String key) {
        String place = this.registry + " " + key;
        Object known = KNOWN.get(place);
        boolean isOld = known instanceof Long
            && System.currentTimeMillis() - ((Long) known).longValue() > UNKNOWN_FOR_MS;
        if (known == null || isOld) {
            known = this.fetched(key);
            KNOWN.put(place, known);
        }
        return known;
    }

    private Object fetched(String key) {
        boolean isGuid = key.indexOf('-') > 0;
        JsonNode told = this.asked(isGuid ? "/schemas/guids/" + key : "/schemas/ids/" + key);
        if (told == null) {
            return Long.valueOf(System.currentTimeMillis());
        }
        Schema.Parser parser = new Schema.Parser();
        this.addReferences(parser, told);
        try {
            Schema schema = parser.parse(text(told, "schema"));
            return new Writer(schema, isGuid ? null : Integer.valueOf(key));
        } catch (RuntimeException error) { // of another type than Avro
            return Long.valueOf(System.currentTimeMillis());
        }
    }

    private void addReferences(Schema.Parser parser, JsonNode told) {
        JsonNode references = (JsonNode) told.get("references");
        for (int at = 0; references != null && at < references.size(); at++) {
            JsonNode one = (JsonNode) references.get(at);
            if (parser.getTypes().containsKey(text(one, "name"))) {
                continue;
            }
            JsonNode held = this.asked("/subjects/" + quoted(text(one, "subject"))
                + "/versions/" + ((JsonNode) one.get("version")).asInt() + "?deleted=true");
            if (held != null) {
                this.addReferences(parser, held);
                parser.parse(text(held, "schema"));
            }
        }
    }

    private static String text(JsonNode node, String name) {
        return ((JsonNode) node.get(name)).asText();
    }

    private static String quoted(String subject) {
        return URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Null for what is not there; waits while nobody answers. */
    private JsonNode asked(String path) {
        String[] urls = this.registry.split(",");
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

    // --- as expressions

    private static Schema parsed(String texts) {
        try {
            JsonNode every = JSON.readTree(texts);
            Schema.Parser parser = new Schema.Parser();
            Schema last = null;
            for (int at = 0; at < every.size(); at++) {
                last = parser.parse(((JsonNode) every.get(at)).asText());
            }
            return last;
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Expression call(AvroFrames frames, String method, DataType result, Object[] arguments) {
        Seq given = CollectionConverters.asScala(Arrays.asList(arguments)).toList();
        Seq none = CollectionConverters.asScala(Arrays.asList(new Object[0])).toList();
        return new Invoke(Literal.fromObject(frames), method, result, given, none, false, true, true);
    }

    static final class Decoding extends AbstractFunction1 implements Serializable {
        private final String registry;

        Decoding(String registry) {
            this.registry = registry;
        }

        public Object apply(Object given) {
            Seq arguments = (Seq) given;
            AvroFrames frames = new AvroFrames(this.registry, literal(arguments.apply(2)), 0, null);
            StructType result = new StructType()
                .add("row", frames.type).add("reason", DataTypes.StringType)
                .add("id", DataTypes.IntegerType);
            return call(frames, "decode", result,
                new Object[] {arguments.apply(0), arguments.apply(1)});
        }
    }

    static final class Encoding extends AbstractFunction1 implements Serializable {
        private final String registry;

        Encoding(String registry) {
            this.registry = registry;
        }

        public Object apply(Object given) {
            Seq arguments = (Seq) given;
            Object row = arguments.apply(0);
            int id = Integer.parseInt(literal(arguments.apply(2)));
            AvroFrames frames = new AvroFrames(
                this.registry, literal(arguments.apply(1)), id, ((Expression) row).dataType());
            return call(frames, "encode", DataTypes.BinaryType, new Object[] {row});
        }
    }

    private static String literal(Object literal) {
        return ((Literal) literal).value().toString();
    }
}
