package ottla;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Protobuf's wire form as Spark's rows and back, without a class for each message.
 *
 * A plan (JSON, made from descriptors by protobuf_types.py) says what the messages of a schema are;
 * the first is the record. Reading follows Protobuf: what is not in the plan is skipped, the last of
 * several values counts, messages that come in parts are put together, a member of a oneof takes the
 * others away. Well-known messages are values of Spark's own.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class ProtobufMessages {
    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;
    private static final int GROUP = 3;
    private static final int END_GROUP = 4;
    private static final int FIXED32 = 5;
    private static final int DEEPEST = 100;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final BigInteger UNSIGNED = BigInteger.ONE.shiftLeft(64);
    // kinds of fields, in the numbers of FieldDescriptorProto.Type
    private static final int DOUBLE = 1;
    private static final int FLOAT = 2;
    private static final int INT64 = 3;
    private static final int UINT64 = 4;
    private static final int INT32 = 5;
    private static final int FIXED_64 = 6;
    private static final int FIXED_32 = 7;
    private static final int BOOL = 8;
    private static final int STRING = 9;
    private static final int GROUP_KIND = 10;
    private static final int MESSAGE = 11;
    private static final int BYTES_KIND = 12;
    private static final int UINT32 = 13;
    private static final int ENUM = 14;
    private static final int SFIXED32 = 15;
    private static final int SFIXED64 = 16;
    private static final int SINT32 = 17;
    private static final int SINT64 = 18;

    private static final GenericArrayData EMPTY_ARRAY = new GenericArrayData(new Object[0]);
    private static final ArrayBasedMapData EMPTY_MAP = new ArrayBasedMapData(EMPTY_ARRAY, EMPTY_ARRAY);

    private final Type[] types;

    public ProtobufMessages(String plan) {
        try {
            JsonNode every = JSON.readTree(plan);
            this.types = new Type[every.size()];
            for (int at = 0; at < this.types.length; at++) {
                this.types[at] = new Type();
            }
            for (int at = 0; at < this.types.length; at++) {
                this.types[at].fill((JsonNode) every.get(at), this.types);
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /** What bytes are that are no such message. */
    public static final class Unfit extends Exception {
        Unfit(String reason) {
            super(reason, null, false, false);
        }
    }

    public InternalRow read(byte[] bytes, int begin, DataType type) throws Unfit {
        Reader reader = new Reader(bytes, begin, bytes.length);
        Message message = new Message(this.types[0]);
        reader.into(message, bytes.length, 0, 0);
        return (InternalRow) message.value(type);
    }

    public void write(InternalRow row, StructType type, ByteArrayOutputStream out) {
        this.types[0].write(row, type, out);
    }

    // --- the plan

    static final class Type {
        String name;
        String as; // a well-known message's value; empty for a row
        Field[] fields;
        Field[] byNumber; // in the order in which they are written
        Map far; // numbers above the table's
        Field[] near;

        void fill(JsonNode plan, Type[] types) {
            this.name = SchemaRegistry.text(plan, "name");
            this.as = SchemaRegistry.text(plan, "as");
            JsonNode told = (JsonNode) plan.get("fields");
            this.fields = new Field[told.size()];
            this.near = new Field[128];
            this.far = new HashMap();
            for (int at = 0; at < this.fields.length; at++) {
                Field field = new Field((JsonNode) told.get(at), at, types);
                this.fields[at] = field;
                if (field.number < this.near.length) {
                    this.near[field.number] = field;
                } else {
                    this.far.put(Integer.valueOf(field.number), field);
                }
            }
            this.byNumber = new Field[this.fields.length];
            System.arraycopy(this.fields, 0, this.byNumber, 0, this.fields.length);
            for (int at = 1; at < this.byNumber.length; at++) {
                Field moved = this.byNumber[at];
                int place = at;
                while (place > 0 && this.byNumber[place - 1].number > moved.number) {
                    this.byNumber[place] = this.byNumber[place - 1];
                    place--;
                }
                this.byNumber[place] = moved;
            }
        }

        Field field(int number) {
            return number < this.near.length
                ? this.near[number] : (Field) this.far.get(Integer.valueOf(number));
        }

        private void checkChoice(InternalRow row, Field field) {
            for (int at = 0; at < field.place; at++) {
                Field other = this.fields[at];
                if (other.oneof == field.oneof && !row.isNullAt(at) && !row.isNullAt(field.place)) {
                    throw new IllegalStateException("of a oneof of " + this.name + " both " + other.name
                        + " and " + field.name + " are set");
                }
            }
        }

        void write(InternalRow row, StructType type, ByteArrayOutputStream out) {
            for (int at = 0; at < this.byNumber.length; at++) {
                Field field = this.byNumber[at];
                if (field.oneof >= 0) {
                    this.checkChoice(row, field);
                }
                if (row.isNullAt(field.place)) {
                    if (field.required) {
                        throw new IllegalStateException("the field " + field.name + " of " + this.name
                            + " is required, and null");
                    }
                    continue;
                }
                DataType dataType = type.fields()[field.place].dataType();
                field.write(row.get(field.place, dataType), dataType, out);
            }
        }
    }

    static final class Field {
        final String name;
        final int number;
        final int kind;
        final int place;
        final boolean many;
        final boolean isMap;
        final boolean presence;
        final boolean required;
        final boolean packed;
        final int oneof; // -1: of none
        final Type type;
        final boolean closed; // an enum whose other numbers are none of it
        final Map names; // of an enum, by number
        final Map numbers; // of an enum, by name
        final Object byDefault;
        final Object absent; // what a row has for it

        Field(JsonNode plan, int place, Type[] types) {
            this.name = SchemaRegistry.text(plan, "name");
            this.place = place;
            this.number = ((JsonNode) plan.get("number")).asInt();
            this.kind = ((JsonNode) plan.get("kind")).asInt();
            this.many = ((JsonNode) plan.get("many")).asBoolean();
            this.isMap = ((JsonNode) plan.get("map")).asBoolean();
            this.presence = ((JsonNode) plan.get("presence")).asBoolean();
            this.required = ((JsonNode) plan.get("required")).asBoolean();
            this.packed = ((JsonNode) plan.get("packed")).asBoolean();
            this.oneof = ((JsonNode) plan.get("oneof")).asInt();
            int type = ((JsonNode) plan.get("type")).asInt();
            this.type = type < 0 ? null : types[type];
            this.closed = ((JsonNode) plan.get("closed")).asBoolean();
            this.names = new HashMap();
            this.numbers = new HashMap();
            JsonNode values = (JsonNode) plan.get("enum");
            for (int at = 0; at < values.size(); at++) {
                JsonNode one = (JsonNode) values.get(at);
                Integer number = Integer.valueOf(((JsonNode) one.get(0)).asInt());
                UTF8String said = UTF8String.fromString(((JsonNode) one.get(1)).asText());
                if (!this.names.containsKey(number)) { // a second name of it is another word for the first
                    this.names.put(number, said);
                }
                this.numbers.put(said, number);
            }
            JsonNode said = (JsonNode) plan.get("default");
            this.byDefault = said.isNull() ? null : this.defaultOf(said.asText());
            if (this.isMap) {
                this.absent = EMPTY_MAP;
            } else if (this.many) {
                this.absent = EMPTY_ARRAY;
            } else {
                this.absent = this.byDefault;
            }
        }

        private Object defaultOf(String text) {
            switch (this.kind) {
                case DOUBLE: return Double.valueOf(text);
                case FLOAT: return Float.valueOf(text);
                case UINT64: case FIXED_64: return unsigned(new BigInteger(text).longValue());
                case INT64: case SFIXED64: case SINT64: case UINT32: case FIXED_32: return Long.valueOf(text);
                case BOOL: return Boolean.valueOf(text);
                case STRING: return UTF8String.fromString(text);
                case BYTES_KIND: return Base64.getDecoder().decode(text);
                case ENUM: return this.named(Integer.parseInt(text));
                default: return Integer.valueOf(text);
            }
        }

        /** The name of an enum's number; of an unknown one the number itself, or null if that is none. */
        UTF8String named(int number) {
            UTF8String name = (UTF8String) this.names.get(Integer.valueOf(number));
            return name != null || this.closed ? name : UTF8String.fromString(Integer.toString(number));
        }

        boolean isMessage() {
            return this.kind == MESSAGE || this.kind == GROUP_KIND;
        }

        int wire() {
            switch (this.kind) {
                case DOUBLE: case FIXED_64: case SFIXED64: return FIXED64;
                case FLOAT: case FIXED_32: case SFIXED32: return FIXED32;
                case STRING: case BYTES_KIND: case MESSAGE: return BYTES;
                case GROUP_KIND: return GROUP;
                default: return VARINT;
            }
        }

        // --- writing

        void write(Object value, DataType type, ByteArrayOutputStream out) {
            if (this.isMap) {
                this.writeMap((MapData) value, (MapType) type, out);
            } else if (this.many) {
                this.writeMany((ArrayData) value, ((ArrayType) type).elementType(), out);
            } else if (this.presence || !isZero(value)) {
                this.writeOne(value, type, out);
            }
        }

        private void writeMany(ArrayData values, DataType type, ByteArrayOutputStream out) {
            int count = values.numElements();
            boolean together = this.packed && count > 0;
            ByteArrayOutputStream into = together ? new ByteArrayOutputStream() : out;
            for (int at = 0; at < count; at++) {
                if (values.isNullAt(at)) {
                    throw new IllegalStateException("a list in Protobuf has no place for null: " + this.name);
                }
                Object one = values.get(at, type);
                if (together) {
                    this.writeBare(one, type, into);
                } else {
                    this.writeOne(one, type, out);
                }
            }
            if (together) {
                tag(this.number, BYTES, out);
                bytes(into.toByteArray(), out);
            }
        }

        private void writeMap(MapData values, MapType type, ByteArrayOutputStream out) {
            Field key = this.type.fields[0];
            Field value = this.type.fields[1];
            for (int at = 0; at < values.numElements(); at++) {
                if (values.valueArray().isNullAt(at)) {
                    throw new IllegalStateException("a map in Protobuf has no place for null: " + this.name);
                }
                ByteArrayOutputStream entry = new ByteArrayOutputStream();
                key.writeOne(values.keyArray().get(at, type.keyType()), type.keyType(), entry);
                value.writeOne(values.valueArray().get(at, type.valueType()), type.valueType(), entry);
                tag(this.number, BYTES, out);
                bytes(entry.toByteArray(), out);
            }
        }

        private void writeOne(Object value, DataType type, ByteArrayOutputStream out) {
            tag(this.number, this.wire(), out);
            this.writeBare(value, type, out);
            if (this.kind == GROUP_KIND) {
                tag(this.number, END_GROUP, out);
            }
        }

        private void writeBare(Object value, DataType type, ByteArrayOutputStream out) {
            switch (this.kind) {
                case DOUBLE: fixed(Double.doubleToRawLongBits(((Double) value).doubleValue()), 8, out); break;
                case FLOAT: fixed(Float.floatToRawIntBits(((Float) value).floatValue()), 4, out); break;
                case INT32: varint(((Integer) value).longValue(), out); break;
                case INT64: varint(((Long) value).longValue(), out); break;
                case UINT32: varint(this.small(value), out); break;
                case UINT64: varint(this.large(value), out); break;
                case SINT32: int32(((Integer) value).intValue(), out); break;
                case SINT64: int64(((Long) value).longValue(), out); break;
                case FIXED_32: fixed(this.small(value), 4, out); break;
                case FIXED_64: fixed(this.large(value), 8, out); break;
                case SFIXED32: fixed(((Integer) value).longValue(), 4, out); break;
                case SFIXED64: fixed(((Long) value).longValue(), 8, out); break;
                case BOOL: out.write(((Boolean) value).booleanValue() ? 1 : 0); break;
                case STRING: bytes(((UTF8String) value).getBytes(), out); break;
                case BYTES_KIND: bytes((byte[]) value, out); break;
                case ENUM: varint(this.numberOf((UTF8String) value), out); break;
                case GROUP_KIND: this.writeMessage(value, type, out); break;
                default:
                    ByteArrayOutputStream inner = new ByteArrayOutputStream();
                    this.writeMessage(value, type, inner);
                    bytes(inner.toByteArray(), out);
            }
        }

        private static void int32(int value, ByteArrayOutputStream out) {
            varint(((value << 1) ^ (value >> 31)) & 0xFFFFFFFFL, out);
        }

        private static void int64(long value, ByteArrayOutputStream out) {
            varint((value << 1) ^ (value >> 63), out);
        }

        private long small(Object value) {
            long found = ((Long) value).longValue();
            if (found < 0 || found > 0xFFFFFFFFL) {
                throw new IllegalStateException(found + " does not fit the field " + this.name);
            }
            return found;
        }

        private long large(Object value) {
            BigInteger found = ((Decimal) value).toJavaBigDecimal().toBigIntegerExact();
            if (found.signum() < 0 || found.bitLength() > 64) {
                throw new IllegalStateException(found + " does not fit the field " + this.name);
            }
            return found.longValue();
        }

        private int numberOf(UTF8String name) {
            Integer number = (Integer) this.numbers.get(name);
            if (number != null) {
                return number.intValue();
            }
            try {
                return Integer.parseInt(name.toString());
            } catch (NumberFormatException error) {
                throw new IllegalStateException("the enum of the field " + this.name + " has no " + name);
            }
        }

        /** A zero that is not written where presence is not known. Minus zero is written. */
        private boolean isZero(Object value) {
            switch (this.kind) {
                case DOUBLE: return Double.doubleToRawLongBits(((Double) value).doubleValue()) == 0;
                case FLOAT: return Float.floatToRawIntBits(((Float) value).floatValue()) == 0;
                case UINT64: case FIXED_64: return this.large(value) == 0;
                case INT64: case SFIXED64: case SINT64: case UINT32: case FIXED_32:
                    return ((Long) value).longValue() == 0;
                case BOOL: return !((Boolean) value).booleanValue();
                case STRING: return ((UTF8String) value).numBytes() == 0;
                case BYTES_KIND: return ((byte[]) value).length == 0;
                case ENUM: return this.numberOf((UTF8String) value) == 0;
                default: return ((Integer) value).intValue() == 0;
            }
        }

        private void writeMessage(Object value, DataType type, ByteArrayOutputStream out) {
            if (this.type.as.length() == 0) {
                this.type.write((InternalRow) value, (StructType) type, out);
            } else if (this.type.as.equals("wrapper")) {
                this.type.fields[0].write(value, type, out);
            } else if (this.type.as.equals("timestamp")) {
                long micros = ((Long) value).longValue();
                this.parts(Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) * 1000, out);
            } else if (this.type.as.equals("duration")) {
                long micros = ((Long) value).longValue();
                this.parts(micros / 1000000L, micros % 1000000L * 1000, out);
            } else if (this.type.as.equals("date")) {
                LocalDate date = LocalDate.ofEpochDay(((Integer) value).longValue());
                long[] parts = new long[] {date.getYear(), date.getMonthValue(), date.getDayOfMonth()};
                for (int at = 0; at < 3; at++) {
                    if (parts[at] != 0) {
                        tag(at + 1, VARINT, out);
                        varint(parts[at], out);
                    }
                }
            } else {
                BigDecimal decimal = ((Decimal) value).toJavaBigDecimal();
                tag(1, BYTES, out);
                bytes(decimal.unscaledValue().toByteArray(), out);
                DecimalType sized = (DecimalType) type;
                tag(2, VARINT, out);
                varint(sized.precision(), out);
                if (sized.scale() != 0) {
                    tag(3, VARINT, out);
                    varint(sized.scale(), out);
                }
            }
        }

        private void parts(long seconds, long nanos, ByteArrayOutputStream out) {
            if (seconds != 0) {
                tag(1, VARINT, out);
                varint(seconds, out);
            }
            if (nanos != 0) {
                tag(2, VARINT, out);
                varint(nanos, out);
            }
        }
    }

    static void tag(int number, int wire, ByteArrayOutputStream out) {
        varint(((long) number) << 3 | wire, out);
    }

    public static void varint(long value, ByteArrayOutputStream out) {
        while ((value & ~0x7FL) != 0) {
            out.write((int) (value & 0x7F) | 0x80);
            value >>>= 7;
        }
        out.write((int) value);
    }

    static void fixed(long value, int size, ByteArrayOutputStream out) {
        for (int at = 0; at < size; at++) {
            out.write((int) (value >>> (8 * at)));
        }
    }

    static void bytes(byte[] value, ByteArrayOutputStream out) {
        varint(value.length, out);
        out.write(value, 0, value.length);
    }

    static Decimal unsigned(long value) {
        if (value >= 0) {
            return Decimal.apply(value, 20, 0);
        }
        return Decimal.apply(new BigDecimal(BigInteger.valueOf(value).add(UNSIGNED)), 20, 0);
    }

    // --- reading

    /** A message while it is put together: values, lists, maps and messages by their field's place. */
    static final class Message {
        final Type type;
        final Object[] held;
        boolean isLost; // an entry of a map whose enum has a number that is none of it

        Message(Type type) {
            this.type = type;
            this.held = new Object[type.fields.length];
        }

        void set(Field field, Object value) {
            if (field.many) {
                if (this.held[field.place] == null) {
                    this.held[field.place] = new ArrayList();
                }
                ((ArrayList) this.held[field.place]).add(value);
                return;
            }
            if (field.oneof >= 0) {
                this.clear(field);
            }
            this.held[field.place] = value;
        }

        private void clear(Field chosen) {
            for (int at = 0; at < this.type.fields.length; at++) {
                if (this.type.fields[at].oneof == chosen.oneof && at != chosen.place) {
                    this.held[at] = null;
                }
            }
        }

        /** The message that a field's bytes are read into. */
        Message inner(Field field) {
            if (field.many) {
                Message fresh = new Message(field.type);
                this.set(field, fresh);
                return fresh;
            }
            Message there = (Message) this.held[field.place];
            if (there == null) {
                there = new Message(field.type);
                this.set(field, there);
            }
            return there;
        }

        void put(Field field, Message entry) {
            if (this.held[field.place] == null) {
                this.held[field.place] = new LinkedHashMap();
            }
            Field key = field.type.fields[0];
            Field value = field.type.fields[1];
            Object found = entry.held[1] != null ? entry.held[1] : value.byDefault;
            if (found == null && value.isMessage()) {
                found = new Message(value.type);
            }
            ((Map) this.held[field.place]).put(
                entry.held[0] != null ? entry.held[0] : key.byDefault, found);
        }

        Object value(DataType type) throws Unfit {
            if (this.type.as.length() == 0) {
                return this.row((StructType) type);
            }
            if (this.type.as.equals("wrapper")) {
                return this.at(0);
            }
            if (this.type.as.equals("timestamp") || this.type.as.equals("duration")) {
                long seconds = ((Long) this.at(0)).longValue();
                long nanos = ((Integer) this.at(1)).longValue();
                try {
                    long micros = this.type.as.equals("timestamp")
                        ? Math.floorDiv(nanos, 1000L) : nanos / 1000L;
                    return Long.valueOf(Math.addExact(Math.multiplyExact(seconds, 1000000L), micros));
                } catch (ArithmeticException error) {
                    throw new Unfit(seconds + " s is outside of what a " + this.type.name + " may be");
                }
            }
            if (this.type.as.equals("date")) {
                try {
                    LocalDate date = LocalDate.of(((Integer) this.at(0)).intValue(),
                        ((Integer) this.at(1)).intValue(), ((Integer) this.at(2)).intValue());
                    return Integer.valueOf((int) date.toEpochDay());
                } catch (DateTimeException error) {
                    throw new Unfit("a date lacks its month or day");
                }
            }
            return this.decimal((DecimalType) type);
        }

        private Decimal decimal(DecimalType type) throws Unfit {
            byte[] unscaled = (byte[]) this.at(0);
            int scale = ((Integer) this.at(2)).intValue();
            BigInteger digits = unscaled.length == 0 ? BigInteger.ZERO : new BigInteger(unscaled);
            if (Math.abs((long) scale) > 1000 || digits.bitLength() > 4000) {
                throw new Unfit("a decimal is larger than any");
            }
            try {
                BigDecimal exact = new BigDecimal(digits, scale).setScale(type.scale());
                if (exact.precision() > type.precision()) {
                    throw new Unfit(exact + " does not fit " + type.sql());
                }
                return Decimal.apply(exact, type.precision(), type.scale());
            } catch (ArithmeticException error) {
                throw new Unfit("a decimal has more digits than " + type.sql());
            }
        }

        private Object at(int place) {
            Object found = this.held[place];
            return found == null ? this.type.fields[place].byDefault : found;
        }

        private InternalRow row(StructType type) throws Unfit {
            Object[] made = new Object[this.held.length];
            for (int at = 0; at < made.length; at++) {
                Field field = this.type.fields[at];
                Object found = this.held[at];
                if (found == null) {
                    if (field.required) {
                        throw new Unfit("the field " + field.name + " is missing");
                    }
                    made[at] = field.absent;
                } else if (field.isMap) {
                    made[at] = map((Map) found, (MapType) type.fields()[at].dataType());
                } else if (field.many) {
                    made[at] = array((ArrayList) found, ((ArrayType) type.fields()[at].dataType()).elementType());
                } else {
                    made[at] = found instanceof Message
                        ? ((Message) found).value(type.fields()[at].dataType()) : found;
                }
            }
            return new GenericInternalRow(made);
        }

        private static Object array(ArrayList found, DataType type) throws Unfit {
            Object[] values = found.toArray();
            for (int at = 0; at < values.length; at++) {
                if (values[at] instanceof Message) {
                    values[at] = ((Message) values[at]).value(type);
                }
            }
            return new GenericArrayData(values);
        }

        private static Object map(Map found, MapType type) throws Unfit {
            Object[] values = found.values().toArray();
            for (int at = 0; at < values.length; at++) {
                if (values[at] instanceof Message) {
                    values[at] = ((Message) values[at]).value(type.valueType());
                }
            }
            return new ArrayBasedMapData(
                new GenericArrayData(found.keySet().toArray()), new GenericArrayData(values));
        }
    }

    /** Over bytes; every length is checked against what is left. */
    public static final class Reader {
        private final byte[] bytes;
        private int at;
        private int end;

        public Reader(byte[] bytes, int begin, int end) {
            this.bytes = bytes;
            this.at = begin;
            this.end = end;
        }

        public int at() {
            return this.at;
        }

        public boolean isEnd() {
            return this.at >= this.end;
        }

        public long varint() throws Unfit {
            long value = 0;
            for (int shift = 0; shift < 70; shift += 7) {
                if (this.at >= this.end) {
                    throw new Unfit("it ends too early");
                }
                byte one = this.bytes[this.at++];
                value |= (long) (one & 0x7F) << shift;
                if (one >= 0) {
                    return value;
                }
            }
            throw new Unfit("a number is longer than ten bytes");
        }

        long fixed(int size) throws Unfit {
            if (this.end - this.at < size) {
                throw new Unfit("it ends too early");
            }
            long value = 0;
            for (int one = 0; one < size; one++) {
                value |= (this.bytes[this.at + one] & 0xFFL) << (8 * one);
            }
            this.at += size;
            return value;
        }

        public int length() throws Unfit {
            long found = this.varint();
            if (found < 0 || found > this.end - this.at) {
                throw new Unfit("it ends too early");
            }
            return (int) found;
        }

        public byte[] slice() throws Unfit {
            int length = this.length();
            this.at = this.at + length;
            return Arrays.copyOfRange(this.bytes, this.at - length, this.at);
        }

        /** Up to `until`, or to the end of the group with this number. */
        void into(Message message, int until, int group, int depth) throws Unfit {
            if (depth > DEEPEST) {
                throw new Unfit("it is nested too deeply");
            }
            int before = this.end;
            this.end = until;
            while (this.at < until) {
                long tag = this.varint();
                int wire = (int) (tag & 7);
                long number = (tag & 0xFFFFFFFFL) >>> 3;
                if (number == 0 || tag >>> 32 != 0) {
                    throw new Unfit("no field has the number " + number);
                }
                if (wire == END_GROUP) {
                    if (number != group) {
                        throw new Unfit("a group ends that did not begin");
                    }
                    this.end = before;
                    return;
                }
                Field field = message.type.field((int) number);
                if (field == null || !this.take(message, field, wire, depth)) {
                    this.skip((int) number, wire, depth);
                }
            }
            if (group != 0) {
                throw new Unfit("it ends too early");
            }
            this.end = before;
        }

        /** False where the bytes are of another form than the field's, and so of none that is known. */
        private boolean take(Message message, Field field, int wire, int depth) throws Unfit {
            if (wire == field.wire()) {
                if (field.isMap) {
                    Message entry = new Message(field.type);
                    int length = this.length();
                    this.into(entry, this.at + length, 0, depth + 1);
                    if (!entry.isLost) {
                        message.put(field, entry);
                    }
                } else if (field.kind == GROUP_KIND) {
                    this.into(message.inner(field), this.end, field.number, depth + 1);
                } else if (field.kind == MESSAGE) {
                    Message inner = message.inner(field);
                    int length = this.length();
                    this.into(inner, this.at + length, 0, depth + 1);
                } else {
                    Object value = this.scalar(field);
                    if (value != null) {
                        message.set(field, value);
                    } else {
                        message.isLost = true;
                    }
                }
                return true;
            }
            if (wire != BYTES || !field.many || field.wire() == GROUP) {
                return false;
            }
            int before = this.end;
            int length = this.length();
            this.end = this.at + length;
            if (message.held[field.place] == null) {
                message.held[field.place] = new ArrayList();
            }
            while (this.at < this.end) {
                Object value = this.scalar(field);
                if (value != null) {
                    message.set(field, value);
                }
            }
            this.end = before;
            return true;
        }

        private Object scalar(Field field) throws Unfit {
            switch (field.kind) {
                case DOUBLE: return Double.valueOf(Double.longBitsToDouble(this.fixed(8)));
                case FLOAT: return Float.valueOf(Float.intBitsToFloat((int) this.fixed(4)));
                case INT32: return Integer.valueOf((int) this.varint());
                case INT64: return Long.valueOf(this.varint());
                case UINT32: return Long.valueOf(this.varint() & 0xFFFFFFFFL);
                case UINT64: return unsigned(this.varint());
                case SINT32: {
                    int found = (int) this.varint();
                    return Integer.valueOf((found >>> 1) ^ -(found & 1));
                }
                case SINT64: {
                    long found = this.varint();
                    return Long.valueOf((found >>> 1) ^ -(found & 1));
                }
                case FIXED_32: return Long.valueOf(this.fixed(4));
                case FIXED_64: return unsigned(this.fixed(8));
                case SFIXED32: return Integer.valueOf((int) this.fixed(4));
                case SFIXED64: return Long.valueOf(this.fixed(8));
                case BOOL: return Boolean.valueOf(this.varint() != 0);
                case ENUM: return field.named((int) this.varint());
                case BYTES_KIND: return this.slice();
                default:
                    UTF8String text = UTF8String.fromBytes(this.slice());
                    if (!text.isValid()) {
                        throw new Unfit("the field " + field.name + " is no UTF-8");
                    }
                    return text;
            }
        }

        public void skip(int number, int wire, int depth) throws Unfit {
            switch (wire) {
                case VARINT: this.varint(); break;
                case FIXED64: this.fixed(8); break;
                case FIXED32: this.fixed(4); break;
                case BYTES: this.pass(this.length()); break;
                case GROUP: this.skipGroup(number, depth + 1); break;
                default: throw new Unfit("there is no wire type " + wire);
            }
        }

        private void pass(int length) {
            this.at += length;
        }

        private void skipGroup(int group, int depth) throws Unfit {
            if (depth > DEEPEST) {
                throw new Unfit("it is nested too deeply");
            }
            while (true) {
                long tag = this.varint();
                int number = (int) (tag >>> 3);
                if ((tag & 7) == END_GROUP) {
                    if (number != group) {
                        throw new Unfit("a group ends that did not begin");
                    }
                    return;
                }
                this.skip(number, (int) (tag & 7), depth);
            }
        }
    }
}
