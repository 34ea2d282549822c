package ottla;

import java.io.EOFException;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkThrowable;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaSourceRDDPartition;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * What foreachBatch calls: every task writes its rows and the batch's number, or neither.
 *
 * The number of the last written batch is a group offset, committed in the same transaction as the
 * rows: a batch that is replayed after a crash finds its own number and writes nothing. Both the
 * transactional id and the group are named after the checkpoint's query and what the task reads, so
 * that a second attempt fences the first, and a fresh checkpoint starts with a clean slate. Not
 * after the task's index: in a batch that is replayed Spark reads the same ranges of its topics, but
 * in the order of the offset log, not in that of the first time. Were a kill to come between the
 * commits of two such tasks, one range would be written twice and the other one never.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class ExactlyOnceSink implements VoidFunction2, Serializable {
    private final Map settings; // of producers and consumers alike
    private final String marker; // the topic whose partition 0 the marker is committed for
    // Takes a FailedBatch, in which the user's code failed, apart; null: the batch has failed.
    private final transient Function separator;

    public ExactlyOnceSink(Map settings, String marker, Function separator) {
        this.settings = new HashMap(settings); // what Python passed is a view that cannot travel
        this.marker = marker;
        this.separator = separator;
    }

    public ExactlyOnceSink(Map settings, String marker) {
        this(settings, marker, null);
    }

    public void call(Object batch, Object number) {
        Dataset frame = (Dataset) batch;
        if (Arrays.asList(frame.columns()).contains("_version")) {
            // Two groups may speak about one row in a batch: the newer version goes last.
            Column[] key = new Column[] {frame.col("key")};
            Column[] version = new Column[] {frame.col("_version")};
            frame = frame.repartition(key).sortWithinPartitions(version).drop("_version");
        }
        long batchId = ((Long) number).longValue();
        RDD rows = rows(frame);
        String query = rows.sparkContext().getLocalProperty("sql.streaming.queryId");
        List failures = this.write(rows, query, batchId, Collections.emptyMap());
        if (!failures.isEmpty()) {
            FailedBatch failed = new FailedBatch(this, rows, query, batchId, failures);
            Object refusal = this.separator.apply(failed);
            if (refusal != null) {
                throw new IllegalStateException((String) refusal);
            }
        }
    }

    /** The rows of a batch. It is planned already: to plan reading what it gives takes as long. */
    private static RDD rows(Dataset frame) {
        LogicalPlan plan = frame.queryExecution().analyzed();
        return plan instanceof LogicalRDD ? ((LogicalRDD) plan).rdd() : frame.queryExecution().toRdd();
    }

    /** What the user's code failed with, from tasks that wrote nothing; the others have written. */
    private List write(RDD rows, String query, long batchId, Map letters) {
        TaskWriter task = new TaskWriter(
            this.settings, this.marker, query, batchId, origins(rows), letters, this.separator != null);
        return run(rows, task);
    }

    /**
     * What each task has to tell. A job of Spark's own plain kind: those of mapPartitions and collect
     * are closures, which Spark reads, cleans and serialises anew for every batch.
     */
    static List run(RDD rows, AbstractFunction2 task) {
        Object[] told = (Object[]) rows.sparkContext().runJob(
            rows, task, ClassTag$.MODULE$.apply(Object.class));
        List all = new ArrayList();
        for (int at = 0; at < told.length; at++) {
            all.addAll((List) told[at]);
        }
        return all;
    }

    /** What each task reads, as a name that is the same whenever the batch is replayed. */
    static String[] origins(RDD rows) {
        String[] names = new String[rows.getNumPartitions()];
        Map seen = new HashMap();
        for (int index = 0; index < names.length; index++) {
            String name = origin(rows, index);
            Integer before = (Integer) seen.get(name);
            int count = before == null ? 0 : before.intValue();
            seen.put(name, Integer.valueOf(count + 1));
            // Parts of one range, where an option splits it: Spark keeps these in their order.
            names[index] = count == 0 ? name : name + "." + count;
        }
        return names;
    }

    /** Behind a shuffle it is the index, which rows get by their keys; else a topic's partition. */
    private static String origin(RDD rdd, int index) {
        KafkaOffsetRange range = range(rdd.partitions()[index]);
        if (range != null) {
            return range.topicPartition().toString();
        }
        List dependencies = CollectionConverters.asJava(rdd.dependencies());
        List names = new ArrayList();
        for (int at = 0; at < dependencies.size(); at++) {
            Dependency dependency = (Dependency) dependencies.get(at);
            if (!(dependency instanceof NarrowDependency)) {
                return String.valueOf(index);
            }
            String branch = dependencies.size() > 1 ? at + "/" : ""; // one topic may be read twice
            Iterator parents = CollectionConverters.asJava(
                ((NarrowDependency) dependency).getParents(index)).iterator();
            while (parents.hasNext()) {
                int parent = ((Integer) parents.next()).intValue();
                names.add(branch + origin(dependency.rdd(), parent));
            }
        }
        if (names.isEmpty()) {
            return String.valueOf(index);
        }
        Collections.sort(names);
        return String.join("+", names);
    }

    /** What a partition of a source of Kafka's reads, live or at rest; null for any other. */
    private static KafkaOffsetRange range(Partition partition) {
        if (partition instanceof KafkaSourceRDDPartition) {
            return ((KafkaSourceRDDPartition) partition).offsetRange();
        }
        if (partition instanceof DataSourceRDDPartition) {
            Option input = ((DataSourceRDDPartition) partition).inputPartition();
            if (input.isDefined() && input.get() instanceof KafkaBatchInputPartition) {
                return ((KafkaBatchInputPartition) input.get()).offsetRange();
            }
        }
        return null;
    }

    /** What a task reads, where everything between it and its one source is narrow. */
    private static KafkaOffsetRange rangeBehind(RDD rdd, int index) {
        KafkaOffsetRange found = range(rdd.partitions()[index]);
        Iterator dependencies = CollectionConverters.asJava(rdd.dependencies()).iterator();
        while (found == null && dependencies.hasNext()) {
            Object dependency = dependencies.next();
            if (dependency instanceof NarrowDependency) {
                NarrowDependency narrow = (NarrowDependency) dependency;
                Iterator parents = CollectionConverters.asJava(narrow.getParents(index)).iterator();
                while (found == null && parents.hasNext()) {
                    found = rangeBehind(narrow.rdd(), ((Integer) parents.next()).intValue());
                }
            }
        }
        return found;
    }

    /** Whether it was the user's code that failed, and not a worker, a broker or Spark. */
    static boolean isUsers(Throwable error) {
        boolean users = false;
        for (Throwable at = error; at != null; at = at.getCause()) {
            if (at instanceof KafkaException || at instanceof TaskKilledException
                || at instanceof InterruptedException || at instanceof EOFException) {
                return false;
            }
            if (at instanceof SparkThrowable) {
                String condition = ((SparkThrowable) at).getCondition();
                boolean told = condition != null && !condition.startsWith("KAFKA");
                users |= at instanceof PythonException
                    || (told && !((SparkThrowable) at).isInternalError());
            }
            users |= at instanceof ArithmeticException;
        }
        return users;
    }

    /** The exception that is nearest to the user's code, as text. */
    static String told(Throwable error) {
        Throwable nearest = error;
        for (Throwable at = error; at != null; at = at.getCause()) {
            if (at instanceof PythonException) {
                return at.toString();
            }
            nearest = at;
        }
        return nearest.toString();
    }

    /**
     * A batch that the user's code failed in, for separating.py, which finds the records it fails on.
     *
     * Tasks are named after the partitions they read, so whoever has written the batch already is
     * passed over when the rest of it is written, and may be: none of its records is a bad one.
     */
    public static final class FailedBatch {
        private final ExactlyOnceSink sink;
        private final RDD rows;
        private final String query;
        private final long batchId;
        private final List failures;

        FailedBatch(ExactlyOnceSink sink, RDD rows, String query, long batchId, List failures) {
            this.sink = sink;
            this.rows = rows;
            this.query = query;
            this.batchId = batchId;
            this.failures = failures;
        }

        public String failure() {
            return (String) this.failures.get(0);
        }

        /** What the batch reads: topic, partition, first offset, the one behind the last. */
        public List ranges() {
            List found = new ArrayList();
            for (int index = 0; index < this.rows.getNumPartitions(); index++) {
                found.add(place(this.rows, index));
            }
            return found;
        }

        /** The ranges in which the frame's tasks fail. */
        public List failingRanges(Dataset frame) {
            RDD rows = frame.queryExecution().toRdd();
            List found = new ArrayList();
            Iterator failures = this.probe(rows).iterator();
            while (failures.hasNext()) {
                List failure = (List) failures.next();
                found.add(place(rows, ((Integer) failure.get(0)).intValue()));
            }
            return found;
        }

        private static List place(RDD rows, int index) {
            KafkaOffsetRange range = rangeBehind(rows, index);
            TopicPartition partition = range.topicPartition();
            return Arrays.asList(new Object[] {
                partition.topic(), Integer.valueOf(partition.partition()),
                Long.valueOf(range.fromOffset()), Long.valueOf(range.untilOffset())});
        }

        /** The frame's partitions that fail, each with the exception. */
        public List failing(Dataset frame) {
            return this.probe(frame.queryExecution().toRdd());
        }

        private List probe(RDD rows) {
            return run(rows, new Probe());
        }

        public List pick(List rows, List places) {
            List picked = new ArrayList();
            for (int at = 0; at < places.size(); at++) {
                picked.add(rows.get(((Number) places.get(at)).intValue()));
            }
            return picked;
        }

        /** The rows as a frame of so many partitions, in their order. */
        public Dataset sliced(SparkSession spark, List rows, StructType schema, int slices) {
            JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
            return spark.createDataFrame(context.parallelize(rows, slices), schema);
        }

        /** The same with a reason for each. */
        public Dataset explained(SparkSession spark, List rows, StructType schema, List reasons) {
            List all = new ArrayList();
            for (int at = 0; at < rows.size(); at++) {
                Row row = (Row) rows.get(at);
                Object[] values = new Object[row.length() + 1];
                for (int column = 0; column < row.length(); column++) {
                    values[column] = row.get(column);
                }
                values[row.length()] = reasons.get(at);
                all.add(RowFactory.create(values));
            }
            return this.sliced(spark, all, schema.add("_reason", DataTypes.StringType), 1);
        }

        /** Write what is left of the batch; letters, or null, have their partition as last column. */
        public List write(Dataset records, Dataset letters) {
            Map byOrigin = new HashMap();
            if (letters != null) {
                int last = letters.columns().length - 1;
                InternalRow[] rows = letters.queryExecution().executedPlan().executeCollect();
                for (int at = 0; at < rows.length; at++) {
                    String origin = rows[at].getUTF8String(last).toString();
                    if (!byOrigin.containsKey(origin)) {
                        byOrigin.put(origin, new ArrayList());
                    }
                    ((List) byOrigin.get(origin)).add(rows[at]);
                }
            }
            RDD rows = records.queryExecution().toRdd();
            return this.sink.write(rows, this.query, this.batchId, byOrigin);
        }
    }

    /** Takes all rows of a partition and tells what the user's code fails with, if it does. */
    public static final class Probe extends AbstractFunction2 implements Serializable {
        public Object apply(Object task, Object partition) {
            scala.collection.Iterator rows = (scala.collection.Iterator) partition;
            try {
                while (rows.hasNext()) {
                    rows.next();
                }
            } catch (Exception error) { // of any kind: what is Scala's declares none
                if (!isUsers(error)) {
                    Platform.throwException(error);
                }
                Integer index = Integer.valueOf(((TaskContext) task).partitionId());
                List failure = Arrays.asList(new Object[] {index, told(error)});
                return Collections.singletonList(failure);
            }
            return Collections.emptyList();
        }
    }

    /** Runs in the executors, once for each partition; those without rows have nothing to do. */
    public static final class TaskWriter extends AbstractFunction2 implements Serializable {
        private final Map settings;
        private final String marker;
        private final String query;
        private final long batchId;
        private final String[] origins;
        private final Map letters; // by origin: records to be written in the same transaction
        private final boolean tells; // of a failure of the user's code, instead of failing with it

        TaskWriter(
            Map settings, String marker, String query, long batchId, String[] origins, Map letters,
            boolean tells) {
            this.settings = settings;
            this.marker = marker;
            this.query = query;
            this.batchId = batchId;
            this.origins = origins;
            this.letters = letters;
            this.tells = tells;
        }

        public Object apply(Object task, Object partition) {
            try {
                Iterator rows = CollectionConverters.asJava((scala.collection.Iterator) partition);
                this.write((TaskContext) task, rows);
            } catch (Exception error) {
                if (!this.tells || !isUsers(error)) {
                    Platform.throwException(error);
                }
                return Collections.singletonList(told(error));
            }
            return Collections.emptyList();
        }

        private void write(TaskContext task, Iterator rows) {
            String origin = this.origins[task.partitionId()];
            List letters = (List) this.letters.get(origin);
            if (!rows.hasNext() && letters == null) {
                return;
            }
            String name = this.query + "." + origin;
            Writer writer = Writer.take(this.settings, this.marker, name, task.attemptNumber());
            boolean written = false;
            try {
                writer.write(this.batchId, rows, letters);
                written = true;
            } finally {
                if (written) {
                    writer.keep();
                } else {
                    writer.close();
                }
            }
        }
    }

    /**
     * A transactional producer that outlives its task, and the number of the last batch under its
     * transactional id.
     *
     * Why the number need not be read again: whoever else writes under this id must have initialised
     * a producer of its own, which fences this one for good. So as long as this producer can commit,
     * everything that was committed since its own initialisation it has committed itself, and what
     * was there before it has read. If it is fenced, its transaction fails, and the task's next
     * attempt starts with a fresh producer and reads the number. So does everything that follows
     * a failure: a writer is kept only after a commit that was confirmed, belongs to one task at
     * a time, and is passed over by every attempt but the first.
     */
    static final class Writer {
        private static final long IDLE_MS = 60000L;
        private static final Map KEPT = new HashMap(); // by place: the writers that no task holds

        private final Object place;
        private final String name;
        private final TopicPartition marker;
        private final KafkaProducer producer;
        private long last;
        private long keptAt;

        static Writer take(Map settings, String marker, String name, int attempt) {
            Object place = Arrays.asList(new Object[] {settings, marker, name});
            Writer kept = leave(place);
            if (kept != null && attempt == 0) {
                return kept;
            }
            if (kept != null) {
                kept.close();
            }
            return new Writer(place, settings, marker, name);
        }

        private Writer(Object place, Map settings, String marker, String name) {
            this.place = place;
            this.name = name;
            this.marker = new TopicPartition(marker, 0);
            Map producing = new HashMap();
            producing.put("linger.ms", "5");
            producing.put("batch.size", "262144");
            producing.put("buffer.memory", "67108864");
            producing.put("compression.type", "lz4");
            // With the default of 100 ms every transaction would wait out the one before it.
            producing.put("retry.backoff.ms", "2");
            // Rows are computed as they are sent, so a transaction is open for as long as its task
            // runs, and one that outlasts this is fenced at every attempt. The most that brokers
            // allow unless they are told otherwise; what a killed task leaves open, its next
            // attempt aborts.
            producing.put("transaction.timeout.ms", "900000");
            producing.putAll(settings);
            producing.put("transactional.id", name);
            this.producer =
                new KafkaProducer(producing, new ByteArraySerializer(), new ByteArraySerializer());
            boolean ready = false;
            try {
                this.producer.initTransactions(); // fences an older attempt, waits out its commit
                this.last = this.readMarker(settings);
                ready = true;
            } finally {
                if (!ready) {
                    this.close();
                }
            }
        }

        private long readMarker(Map settings) {
            Map consuming = new HashMap();
            consuming.put("retry.backoff.ms", "2");
            consuming.putAll(settings);
            consuming.put("group.id", this.name);
            consuming.put("isolation.level", "read_committed");
            consuming.put("enable.auto.commit", "false");
            KafkaConsumer consumer = new KafkaConsumer(
                consuming, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            try {
                Map committed = consumer.committed(Collections.singleton(this.marker));
                OffsetAndMetadata found = (OffsetAndMetadata) committed.get(this.marker);
                return found == null ? -1L : found.offset();
            } finally {
                consumer.close();
            }
        }

        void write(long batchId, Iterator rows, List letters) {
            if (this.last >= batchId) {
                while (rows.hasNext()) { // state upstream is only committed when all were taken
                    rows.next();
                }
                return;
            }
            this.producer.beginTransaction();
            OffsetAndMetadata number =
                new OffsetAndMetadata(batchId, "last batch of an Ottla pipeline");
            this.producer.sendOffsetsToTransaction(
                Collections.singletonMap(this.marker, number), new ConsumerGroupMetadata(this.name));
            while (rows.hasNext()) {
                this.producer.send(record((InternalRow) rows.next()));
            }
            for (int at = 0; letters != null && at < letters.size(); at++) {
                this.producer.send(record((InternalRow) letters.get(at)));
            }
            this.producer.commitTransaction(); // fails if any of the rows could not be sent
            this.last = batchId;
        }

        /** From topic, key, value, headers, partition and time, as sinks.records lays them out. */
        private static ProducerRecord record(InternalRow row) {
            String topic = row.getUTF8String(0).toString();
            byte[] key = row.isNullAt(1) ? null : row.getBinary(1);
            byte[] value = row.isNullAt(2) ? null : row.getBinary(2);
            List headers = row.isNullAt(3) ? null : headers(row.getArray(3));
            Integer partition = row.isNullAt(4) ? null : Integer.valueOf(row.getInt(4));
            Long time = row.isNullAt(5) ? null : Long.valueOf(Math.max(0L, row.getLong(5)));
            return new ProducerRecord(topic, partition, time, key, value, headers);
        }

        private static List headers(ArrayData pairs) {
            List headers = new ArrayList(pairs.numElements());
            for (int at = 0; at < pairs.numElements(); at++) {
                InternalRow pair = pairs.getStruct(at, 2);
                byte[] value = pair.isNullAt(1) ? null : pair.getBinary(1);
                headers.add(new RecordHeader(pair.getUTF8String(0).toString(), value));
            }
            return headers;
        }

        /** For the next batch of this partition. Writers of queries that have ended are closed. */
        void keep() {
            this.keptAt = System.currentTimeMillis();
            List ended = new ArrayList();
            synchronized (KEPT) {
                for (Iterator all = KEPT.values().iterator(); all.hasNext();) {
                    Writer other = (Writer) all.next();
                    if (this.keptAt - other.keptAt > IDLE_MS) {
                        all.remove();
                        ended.add(other);
                    }
                }
                Object displaced = KEPT.put(this.place, this);
                if (displaced != null) {
                    ended.add(displaced);
                }
            }
            for (int at = 0; at < ended.size(); at++) {
                ((Writer) ended.get(at)).close();
            }
        }

        private static Writer leave(Object place) {
            synchronized (KEPT) {
                return (Writer) KEPT.remove(place);
            }
        }

        void close() {
            this.producer.close(Duration.ZERO);
        }
    }
}
