package ottla;

import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

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

    public ExactlyOnceSink(Map settings, String marker) {
        this.settings = new HashMap(settings); // what Python passed is a view that cannot travel
        this.marker = marker;
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
        RDD rows = frame.queryExecution().toRdd();
        TaskWriter task = new TaskWriter(this.settings, this.marker, batchId, origins(rows));
        rows.toJavaRDD().foreachPartition(task);
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
        Partition partition = rdd.partitions()[index];
        if (partition instanceof DataSourceRDDPartition) {
            Option input = ((DataSourceRDDPartition) partition).inputPartition();
            if (input.isDefined() && input.get() instanceof KafkaBatchInputPartition) {
                KafkaBatchInputPartition range = (KafkaBatchInputPartition) input.get();
                return range.offsetRange().topicPartition().toString();
            }
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

    /** Runs in the executors, once for each partition that has rows. */
    public static final class TaskWriter implements VoidFunction, Serializable {
        private final Map settings;
        private final String marker;
        private final long batchId;
        private final String[] origins;

        TaskWriter(Map settings, String marker, long batchId, String[] origins) {
            this.settings = settings;
            this.marker = marker;
            this.batchId = batchId;
            this.origins = origins;
        }

        public void call(Object partition) {
            Iterator rows = (Iterator) partition;
            if (!rows.hasNext()) {
                return;
            }
            TaskContext task = TaskContext.get();
            String query = task.getLocalProperty("sql.streaming.queryId");
            String name = query + "." + this.origins[task.partitionId()];
            Writer writer = Writer.take(this.settings, this.marker, name, task.attemptNumber());
            boolean written = false;
            try {
                writer.write(this.batchId, rows);
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

        void write(long batchId, Iterator rows) {
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
