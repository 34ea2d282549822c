package ottla;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Collections;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Rows as bytes and back, without a loss whatever their types: Spark's own binary row, in which its
 * state stores keep them, behind eight bytes that say of which type it is.
 *
 * As SQL functions: ottla_row(struct) gives bytes, ottla_row_of(bytes, type) the struct. The first
 * byte is never that of a JSON object, so that a reader can tell both apart.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class RowCodec implements Serializable {
    private static final int HEAD = 8; // so that the row behind it is aligned
    private static final byte VERSION = 1;

    private final StructType type;
    private final byte[] head;
    private final RowCodec[] before; // of the types that rows of earlier runs may have
    private transient ThreadLocal projections; // an UnsafeProjection writes into a buffer of its own

    RowCodec(StructType type, RowCodec[] before) {
        this.type = type.asNullable();
        this.head = head(this.type);
        this.before = before;
    }

    /** Makes the functions known to the session. */
    public static void register(SparkSession spark) {
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            "ottla_row", new Encoding(), "scala_udf");
        spark.sessionState().functionRegistry().createOrReplaceTempFunction(
            "ottla_row_of", new Decoding(), "scala_udf");
    }

    public byte[] encode(InternalRow row) {
        UnsafeRow written = row instanceof UnsafeRow ? (UnsafeRow) row : this.projection().apply(row);
        byte[] bytes = new byte[HEAD + written.getSizeInBytes()];
        System.arraycopy(this.head, 0, bytes, 0, HEAD);
        written.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + HEAD);
        return bytes;
    }

    public InternalRow decode(byte[] bytes) {
        byte[] head = Arrays.copyOf(bytes, HEAD);
        if (!Arrays.equals(this.head, head)) {
            for (int at = 0; at < this.before.length; at++) {
                if (Arrays.equals(this.before[at].head, head)) {
                    return this.adapted(this.before[at].decode(bytes), this.before[at].type);
                }
            }
            throw new IllegalStateException(
                "a row was written with other columns or types than " + this.type.catalogString());
        }
        UnsafeRow row = new UnsafeRow(this.type.length());
        row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + HEAD, bytes.length - HEAD);
        return row;
    }

    /** The row of another type in this one: by name, null where it has no such column. */
    private InternalRow adapted(InternalRow row, StructType written) {
        Object[] values = new Object[this.type.length()];
        for (int at = 0; at < values.length; at++) {
            String name = this.type.apply(at).name();
            if (written.getFieldIndex(name).isDefined()) {
                int place = written.fieldIndex(name);
                DataType type = this.type.apply(at).dataType();
                values[at] = type.equals(written.apply(place).dataType()) ? row.get(place, type) : null;
            }
        }
        return new GenericInternalRow(values);
    }

    private UnsafeProjection projection() {
        synchronized (this) {
            if (this.projections == null) {
                this.projections = new ThreadLocal();
            }
        }
        UnsafeProjection mine = (UnsafeProjection) this.projections.get();
        if (mine == null) {
            mine = UnsafeProjection.create(this.type);
            this.projections.set(mine);
        }
        return mine;
    }

    private static byte[] head(StructType type) {
        try {
            byte[] text = type.catalogString().getBytes(StandardCharsets.UTF_8);
            byte[] head = Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(text), HEAD);
            head[0] = VERSION;
            return head;
        } catch (java.security.NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Expression call(RowCodec codec, String method, DataType result, Object argument) {
        Seq arguments = CollectionConverters.asScala(Collections.singletonList(argument)).toList();
        Seq none = CollectionConverters.asScala(Collections.emptyList()).toList();
        return new Invoke(
            Literal.fromObject(codec), method, result, arguments, none, true, true, true);
    }

    static final class Encoding extends AbstractFunction1 implements Serializable {
        public Object apply(Object given) {
            Object row = ((Seq) given).head();
            StructType type = (StructType) ((Expression) row).dataType();
            return call(new RowCodec(type, new RowCodec[0]), "encode", DataTypes.BinaryType, row);
        }
    }

    static final class Decoding extends AbstractFunction1 implements Serializable {
        public Object apply(Object given) {
            Seq arguments = (Seq) given;
            RowCodec[] before = new RowCodec[arguments.length() - 2];
            for (int at = 0; at < before.length; at++) {
                before[at] = new RowCodec(type(arguments.apply(at + 2)), new RowCodec[0]);
            }
            RowCodec codec = new RowCodec(type(arguments.apply(1)), before);
            return call(codec, "decode", codec.type, arguments.head());
        }

        private static StructType type(Object literal) {
            return (StructType) DataType.fromJson(((Literal) literal).value().toString());
        }
    }
}
