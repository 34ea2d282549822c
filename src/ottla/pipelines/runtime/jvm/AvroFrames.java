package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
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
 * As SQL functions of one registry: NAME_of(bytes, header, texts, what) reads with the schema in texts
 * (a JSON array; those before the last are what it refers to), whatever the writer's was: a struct of the
 * row, the reason why there is none, and the writer's id. NAME_as(struct, texts, id) writes, a record or,
 * with another schema, the struct's only value. The
 * writer's schema is fetched once for each JVM; a registry that is away makes the task wait.
 *
 * Spark brings what turns Avro's values into its own and back; it keeps its states with it.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class AvroFrames implements Serializable {
    private static final SchemaRegistry.Known KNOWN = new Writers();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String registry; // URLs with commas between; users and passwords stand in them
    private final String texts;
    private final int id; // of the schema that is written
    private final DataType type; // of the rows
    private final String what; // is read: the key or the value
    private transient ThreadLocal workers;

    AvroFrames(String registry, String texts, int id, DataType type, String what) {
        this.registry = registry;
        this.what = what;
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
        SchemaRegistry.Frame frame = SchemaRegistry.frame(value, header, this.what);
        if (frame.flaw != null) {
            return because(frame.flaw, null);
        }
        String key = frame.key;
        int begin = header == null ? frame.begin : 0;
        Writer writer = (Writer) KNOWN.of(this.registry, frame);
        if (writer == null) {
            return because("the registry has no schema with the id " + key, null);
        }
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

    // --- writing

    public byte[] encode(InternalRow row) {
        return row == null ? null : this.worker().frame(row);
    }

    /** A row's only value, for schemas that are no records. */
    public byte[] encodeOne(InternalRow row) {
        return row == null ? null : this.worker().frame(row.get(0, this.type));
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

        byte[] frame(Object row) {
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

    static final class Writers extends SchemaRegistry.Known {
        Object made(String registry, SchemaRegistry.Frame frame) {
            JsonNode told = SchemaRegistry.asked(registry, frame.path());
            if (told == null) {
                return null;
            }
            Schema.Parser parser = new Schema.Parser();
            addReferences(registry, parser, told);
            try {
                Schema schema = parser.parse(SchemaRegistry.text(told, "schema"));
                return new Writer(schema, frame.id());
            } catch (RuntimeException error) { // of another type than Avro
                return null;
            }
        }
    }

    private static void addReferences(String registry, Schema.Parser parser, JsonNode told) {
        JsonNode references = (JsonNode) told.get("references");
        for (int at = 0; references != null && at < references.size(); at++) {
            JsonNode one = (JsonNode) references.get(at);
            if (parser.getTypes().containsKey(SchemaRegistry.text(one, "name"))) {
                continue;
            }
            JsonNode held = SchemaRegistry.asked(registry, SchemaRegistry.referred(one));
            if (held != null) {
                addReferences(registry, parser, held);
                parser.parse(SchemaRegistry.text(held, "schema"));
            }
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
            AvroFrames frames = new AvroFrames(this.registry, literal(arguments.apply(2)), 0, null, literal(arguments.apply(3)));
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
            String texts = literal(arguments.apply(1));
            DataType type = ((Expression) row).dataType();
            boolean isRecord = parsed(texts).getType() == Schema.Type.RECORD;
            AvroFrames frames = new AvroFrames(this.registry, texts, id,
                isRecord ? type : ((StructType) type).fields()[0].dataType(), null);
            return call(frames, isRecord ? "encode" : "encodeOne", DataTypes.BinaryType, new Object[] {row});
        }
    }

    private static String literal(Object literal) {
        return ((Literal) literal).value().toString();
    }
}
