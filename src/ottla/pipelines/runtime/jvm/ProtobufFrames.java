package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Protobuf records that say which schema of a registry, and which message of it, they are.
 *
 * As SQL functions of one registry: NAME_of(bytes, header, plan, type, message, what) reads by a plan
 * (see ProtobufMessages): a struct of the row, the reason why there is none, and the writer's id.
 * NAME_as(struct, plan, id, indexes) writes. Bytes of any version are read with the same plan, so of
 * the writer's schema only the names of its messages are looked at, fetched once for each JVM.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class ProtobufFrames implements Serializable {
    private static final SchemaRegistry.Known KNOWN = new Files();

    private final String registry; // URLs with commas between; users and passwords stand in them
    private final String plan;
    private final StructType type; // of the rows
    private final String message; // that is read
    private final String what; // is read: the key or the value
    private final byte[] head; // of what is written
    private transient volatile ProtobufMessages messages;

    ProtobufFrames(
            String registry, String plan, StructType type, String message, String what, byte[] head) {
        this.registry = registry;
        this.plan = plan;
        this.type = type;
        this.message = message;
        this.what = what;
        this.head = head;
    }

    /** The address travels inside the function: in a plan, which Spark shows, a password would be seen. */
    public static void register(SparkSession spark, String name, String registry) {
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            name + "_of", new Decoding(registry), "scala_udf");
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            name + "_as", new Encoding(registry), "scala_udf");
    }

    private ProtobufMessages messages() {
        if (this.messages == null) { // made twice where two tasks begin at once: no harm
            this.messages = new ProtobufMessages(this.plan);
        }
        return this.messages;
    }

    // --- reading

    public InternalRow decode(byte[] bytes, byte[] header) {
        if (bytes == null) {
            return null;
        }
        SchemaRegistry.Frame frame = SchemaRegistry.frame(bytes, header, this.what);
        if (frame.flaw != null) {
            return because(frame.flaw, null);
        }
        Names found = (Names) KNOWN.of(this.registry, frame);
        if (found == null) {
            return because("the registry has no Protobuf schema with the id " + frame.key, null);
        }
        Integer id = frame.id();
        try {
            byte[] head = header == null ? bytes : header;
            ProtobufMessages.Reader reader = new ProtobufMessages.Reader(head, frame.begin, head.length);
            String name = named(found, reader);
            if (!this.message.equals(name)) {
                return because(name == null
                    ? "the schema with the id " + frame.key + " has no message at the record's indexes"
                    : "the record is a " + name + ", not a " + this.message, id);
            }
            return new GenericInternalRow(new Object[] {
                this.messages().read(bytes, header == null ? reader.at() : 0, this.type), null, id});
        } catch (ProtobufMessages.Unfit error) {
            return because("the bytes do not fit the schema with the id " + frame.key + ": "
                + error.getMessage(), id);
        }
    }

    private static InternalRow because(String reason, Integer id) {
        return new GenericInternalRow(new Object[] {null, UTF8String.fromString(reason), id});
    }

    /** Indexes say where in the file a message stands: a count and zigzag numbers, or 0 for the first. */
    private static String named(Names names, ProtobufMessages.Reader reader) throws ProtobufMessages.Unfit {
        long count = zigzag(reader.varint());
        if (count == 0) {
            return names.inner.size() == 0 ? null : ((Names) names.inner.get(0)).name;
        }
        Names at = names;
        for (long one = 0; one < count; one++) {
            long index = zigzag(reader.varint());
            at = at == null || index < 0 || index >= at.inner.size() ? null : (Names) at.inner.get((int) index);
        }
        return at == null ? null : at.name;
    }

    private static long zigzag(long found) {
        return (found >>> 1) ^ -(found & 1);
    }

    // --- writing

    public byte[] encode(InternalRow row) {
        if (row == null) {
            return null;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(64);
        out.write(this.head, 0, this.head.length);
        this.messages().write(row, this.type, out);
        return out.toByteArray();
    }

    // --- the registry

    /** The messages of a file, or within one, in their order. */
    static final class Names {
        final String name;
        final ArrayList inner = new ArrayList();

        Names(String name) {
            this.name = name;
        }
    }

    static final class Files extends SchemaRegistry.Known {
        Object made(String registry, SchemaRegistry.Frame frame) {
            JsonNode told = SchemaRegistry.asked(registry, frame.path() + "?format=serialized");
            if (told == null || !told.has("schemaType") || !SchemaRegistry.text(told, "schemaType").equals("PROTOBUF")) {
                return null;
            }
            try {
                return file(Base64.getDecoder().decode(SchemaRegistry.text(told, "schema")));
            } catch (ProtobufMessages.Unfit error) {
                throw new IllegalStateException("the schema registry sends no descriptor: " + error.getMessage());
            }
        }
    }

    /** Of a FileDescriptorProto: its package (2) and messages (4). */
    private static Names file(byte[] bytes) throws ProtobufMessages.Unfit {
        Names file = new Names("");
        String space = "";
        ArrayList messages = new ArrayList();
        ProtobufMessages.Reader reader = new ProtobufMessages.Reader(bytes, 0, bytes.length);
        while (!reader.isEnd()) {
            long tag = reader.varint();
            if (tag == (2 << 3 | 2)) {
                space = new String(reader.slice(), StandardCharsets.UTF_8) + ".";
            } else if (tag == (4 << 3 | 2)) {
                messages.add(reader.slice());
            } else {
                reader.skip((int) (tag >>> 3), (int) (tag & 7), 0);
            }
        }
        for (int at = 0; at < messages.size(); at++) {
            file.inner.add(message((byte[]) messages.get(at), space));
        }
        return file;
    }

    /** Of a DescriptorProto: its name (1) and the messages within it (3). */
    private static Names message(byte[] bytes, String space) throws ProtobufMessages.Unfit {
        String name = "";
        ArrayList nested = new ArrayList();
        ProtobufMessages.Reader reader = new ProtobufMessages.Reader(bytes, 0, bytes.length);
        while (!reader.isEnd()) {
            long tag = reader.varint();
            if (tag == (1 << 3 | 2)) {
                name = space + new String(reader.slice(), StandardCharsets.UTF_8);
            } else if (tag == (3 << 3 | 2)) {
                nested.add(reader.slice());
            } else {
                reader.skip((int) (tag >>> 3), (int) (tag & 7), 0);
            }
        }
        Names made = new Names(name);
        for (int at = 0; at < nested.size(); at++) {
            made.inner.add(message((byte[]) nested.get(at), name + "."));
        }
        return made;
    }

    // --- as expressions

    private static Expression call(ProtobufFrames frames, String method, DataType result, Object[] arguments) {
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
            StructType type = (StructType) DataType.fromDDL(literal(arguments.apply(3)));
            ProtobufFrames frames = new ProtobufFrames(this.registry, literal(arguments.apply(2)), type,
                literal(arguments.apply(4)), literal(arguments.apply(5)), null);
            StructType result = new StructType()
                .add("row", type).add("reason", DataTypes.StringType).add("id", DataTypes.IntegerType);
            return call(frames, "decode", result, new Object[] {arguments.apply(0), arguments.apply(1)});
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
            ProtobufFrames frames = new ProtobufFrames(this.registry, literal(arguments.apply(1)),
                (StructType) ((Expression) row).dataType(), null, null,
                head(Integer.parseInt(literal(arguments.apply(2))), literal(arguments.apply(3))));
            return call(frames, "encode", DataTypes.BinaryType, new Object[] {row});
        }
    }

    /** The id and the message's indexes, which have commas between them; nothing where a header bears them. */
    private static byte[] head(int id, String indexes) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (indexes.length() == 0) {
            return new byte[0];
        }
        out.write(0);
        out.write(ByteBuffer.allocate(4).putInt(id).array(), 0, 4);
        if (indexes.equals("0")) {
            out.write(0);
            return out.toByteArray();
        }
        String[] every = indexes.split(",");
        ProtobufMessages.varint(2L * every.length, out);
        for (int at = 0; at < every.length; at++) {
            ProtobufMessages.varint(2L * Integer.parseInt(every[at]), out);
        }
        return out.toByteArray();
    }

    private static String literal(Object literal) {
        return ((Literal) literal).value().toString();
    }
}
