package ottla;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A stream with a table's latest row, or two tables, by key. Its input and output are those of
 * joins.table_join: a row's side, time and place, and each side's fields as a struct.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class TableJoiner extends StatefulProcessor {
    // The columns of what comes in, after the key.
    private static final int TIME = 1;
    private static final int RANK = 2;
    private static final int PARTITION = 3;
    private static final int OFFSET = 4;
    private static final int TOPIC = 5;
    private static final int HEADERS = 6;
    private static final int LEFT = 7;
    private static final int RIGHT = 8;
    private static final int TABLE = 0; // ranks: at the same time the right side, a table, goes first

    private final String kind;
    private final boolean leftIsTable;
    private final StructType leftType;
    private final StructType rightType;
    private transient ValueState left;
    private transient ValueState right;

    TableJoiner(String kind, boolean leftIsTable, StructType leftType, StructType rightType) {
        this.kind = kind;
        this.leftIsTable = leftIsTable;
        this.leftType = leftType;
        this.rightType = rightType;
    }

    /** The tagged union of both sides, joined: the same columns, but `gone` in place of `rank`. */
    public static Dataset join(Dataset union, String kind, boolean leftIsTable) {
        StructType taken = union.schema();
        StructField[] made = (StructField[]) taken.fields().clone();
        made[RANK] = new StructField("gone", DataTypes.BooleanType, true, Metadata.empty());
        TableJoiner joiner = new TableJoiner(
            kind,
            leftIsTable,
            (StructType) taken.apply(LEFT).dataType(),
            (StructType) taken.apply(RIGHT).dataType());
        KeyValueGroupedDataset grouped =
            union.groupBy("_key", new String[0]).as(Encoders.STRING(), Encoders.row(taken));
        Encoder result = Encoders.row(new StructType(made));
        return grouped.transformWithState(joiner, TimeMode.None(), OutputMode.Update(), result).toDF();
    }

    public void init(OutputMode outputMode, TimeMode timeMode) {
        TTLConfig forever = TTLConfig.NONE();
        this.right = this.getHandle().getValueState("right", Encoders.row(this.rightType), forever);
        if (this.leftIsTable) {
            this.left = this.getHandle().getValueState("left", Encoders.row(this.leftType), forever);
        }
    }

    public scala.collection.Iterator handleInputRows(
        Object key, scala.collection.Iterator rows, TimerValues timers) {
        List results = new ArrayList();
        Object leftBefore = this.leftIsTable ? this.left.get() : null;
        Object rightBefore = this.right.get();
        Object left = leftBefore;
        Object right = rightBefore;
        boolean was = this.there(left, right); // who never had a row has none to be deleted
        for (Iterator ordered = byTime(rows); ordered.hasNext();) {
            Row row = (Row) ordered.next();
            if (row.getInt(RANK) == TABLE) {
                right = row.get(RIGHT);
                if (!this.leftIsTable) {
                    continue;
                }
            } else {
                left = row.get(LEFT);
            }
            boolean there = this.there(left, right);
            if (there || (this.leftIsTable && was)) {
                results.add(RowFactory.create(new Object[] {
                    key, row.get(TIME), Boolean.valueOf(!there), row.get(PARTITION), row.get(OFFSET),
                    row.get(TOPIC), row.get(HEADERS), there ? left : null, there ? right : null}));
            }
            was = there;
        }
        put(this.right, rightBefore, right);
        if (this.leftIsTable) {
            put(this.left, leftBefore, left);
        }
        return CollectionConverters.asScala(results.iterator());
    }

    private boolean there(Object left, Object right) {
        if (this.kind.equals("inner")) {
            return left != null && right != null;
        }
        return left != null || (this.kind.equals("outer") && right != null);
    }

    private static void put(ValueState state, Object before, Object now) {
        if (now == before || Objects.equals(now, before)) {
            return;
        }
        if (now == null) {
            state.clear();
        } else {
            state.update(now);
        }
    }

    /** All rows of a key: each partition in the order of its offsets, the oldest head first. */
    static Iterator byTime(scala.collection.Iterator rows) {
        Map partitions = new TreeMap();
        while (rows.hasNext()) {
            Row row = (Row) rows.next();
            Long place = Long.valueOf(((long) row.getInt(RANK) << 32) | row.getInt(PARTITION));
            List queue = (List) partitions.get(place);
            if (queue == null) {
                queue = new ArrayList();
                partitions.put(place, queue);
            }
            queue.add(row);
        }
        PriorityQueue heads = new PriorityQueue();
        List only = null;
        for (Iterator queues = partitions.values().iterator(); queues.hasNext();) {
            only = (List) queues.next();
            Collections.sort(only, new ByOffset()); // stable, and quick where it is sorted already
            heads.add(new Head(only));
        }
        return heads.size() == 1 ? only.iterator() : new Merged(heads);
    }

    static final class ByOffset implements Comparator {
        public int compare(Object one, Object other) {
            return Long.compare(((Row) one).getLong(OFFSET), ((Row) other).getLong(OFFSET));
        }
    }

    /** Where the merge stands in one partition. */
    static final class Head implements Comparable {
        private final List rows;
        private int at;

        Head(List rows) {
            this.rows = rows;
        }

        Row row() {
            return (Row) this.rows.get(this.at);
        }

        boolean advance() {
            this.at++;
            return this.at < this.rows.size();
        }

        public int compareTo(Object other) {
            Row mine = this.row();
            Row theirs = ((Head) other).row();
            int order = Long.compare(mine.getLong(TIME), theirs.getLong(TIME));
            if (order == 0) {
                order = Integer.compare(mine.getInt(RANK), theirs.getInt(RANK));
            }
            return order == 0 ? Integer.compare(mine.getInt(PARTITION), theirs.getInt(PARTITION)) : order;
        }
    }

    static final class Merged implements Iterator {
        private final PriorityQueue heads;

        Merged(PriorityQueue heads) {
            this.heads = heads;
        }

        public boolean hasNext() {
            return !this.heads.isEmpty();
        }

        public Object next() {
            Head head = (Head) this.heads.poll();
            Row row = head.row();
            if (head.advance()) {
                this.heads.add(head);
            }
            return row;
        }
    }
}
