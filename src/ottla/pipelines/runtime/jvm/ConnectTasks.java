package ottla;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * What connectors' jobs do in the JVM: a task's rows are records, and become one transaction.
 *
 * Rows are topic, key, value, headers, partition and time. A row without a topic is not written: it
 * is told to whoever runs the job, and where its key is "failed" the task's transaction is aborted.
 * Without transactional ids (dead letters of sinks) records are written as they are.
 *
 * A task that failed is not tried again here, else records whose commit went unheard would be
 * written twice: it tells its failure, and the run looks into Kafka before it goes on.
 *
 * Producers are opened by the run itself, before it reads how far it is, and are not replaced while
 * it lasts. So of two workers that both believe to run a connector, the one that began first finds
 * its producers fenced. In a cluster any executor may be given a task, so each task opens a producer
 * of its own; that fences whoever has the id, but says nothing of who may. Therefore the run writes
 * its name down as it begins (an offset's metadata in a group named after the id), and a task that
 * does not find it there, behind its own opening, ends as fenced.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class ConnectTasks {
    private ConnectTasks() {}

    /** A frame of one column, with a partition for each payload. */
    public static Dataset frame(SparkSession spark, List payloads) {
        List rows = new ArrayList();
        for (int at = 0; at < payloads.size(); at++) {
            rows.add(RowFactory.create(new Object[] {payloads.get(at)}));
        }
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        StructType schema = new StructType().add("payload", DataTypes.BinaryType);
        return spark.createDataFrame(context.parallelize(rows, rows.size()), schema);
    }

    /**
     * Fences whoever wrote under these ids before, and waits out what they committed last. `topic`
     * is there in any case; null: all tasks will be in this JVM.
     */
    public static void open(String run, Map settings, List ids, String topic) {
        for (int at = 0; at < ids.size(); at++) {
            String id = (String) ids.get(at);
            KafkaProducer producer = Producers.transactional(settings, id);
            if (topic == null) {
                Producers.keep(run, id, producer);
            } else {
                try {
                    Names.write(producer, topic, id, run);
                } finally {
                    producer.close();
                }
            }
        }
    }

    /** Of a run that has ended. What is open is aborted by the broker, or by the next run. */
    public static void close(String run) {
        Producers.close(run);
        Topics.forget(run);
    }

    /**
     * What the tasks told, in their order: values of rows without a topic, each with its length
     * before it; and of a task that failed -1, the kind of its failure and its text. In one piece,
     * since each call from Python takes as long as a task may. `ids` has the transactional id of each
     * partition, or is empty.
     */
    public static byte[] run(
        Dataset frame, String run, Map settings, List ids, List topics, String named)
        throws IOException {
        RDD rows = frame.queryExecution().toRdd();
        Task task = new Task(run, new HashMap(settings), new ArrayList(ids), copied(topics), named);
        Object[] told = (Object[]) rows.sparkContext().runJob(
            rows, task, ClassTag$.MODULE$.apply(Object.class));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        DataOutputStream into = new DataOutputStream(all);
        for (int at = 0; at < told.length; at++) {
            for (Iterator of = ((List) told[at]).iterator(); of.hasNext();) {
                Object one = of.next();
                if (one instanceof byte[]) {
                    write(into, (byte[]) one);
                } else {
                    Object[] failure = (Object[]) one;
                    into.writeInt(-1);
                    write(into, ((String) failure[0]).getBytes("UTF-8"));
                    write(into, ((String) failure[1]).getBytes("UTF-8"));
                }
            }
        }
        return all.toByteArray();
    }

    private static void write(DataOutputStream into, byte[] piece) throws IOException {
        into.writeInt(piece.length);
        into.write(piece);
    }

    /** What Python passes are views that cannot travel. */
    private static List copied(List rules) {
        List copies = new ArrayList();
        for (int at = 0; at < rules.size(); at++) {
            List rule = (List) rules.get(at);
            copies.add(Arrays.asList(new Object[] {
                rule.get(0), rule.get(1), rule.get(2), rule.get(3), new HashMap((Map) rule.get(4))}));
        }
        return copies;
    }

    /** Runs in the executors, once for each partition. */
    public static final class Task extends AbstractFunction2 implements Serializable {
        private final String run;
        private final Map settings;
        private final List ids;
        private final List topics; // how those that are missing are made
        private final String named; // the topic of runs' names; null: producers are kept

        Task(String run, Map settings, List ids, List topics, String named) {
            this.run = run;
            this.settings = settings;
            this.ids = ids;
            this.topics = topics;
            this.named = named;
        }

        public Object apply(Object context, Object partition) {
            TaskContext task = (TaskContext) context;
            List told = new ArrayList();
            try {
                if (task.attemptNumber() > 0) {
                    throw new IllegalStateException("the executor of a task was lost");
                }
                Iterator rows = CollectionConverters.asJava((scala.collection.Iterator) partition);
                if (this.ids.isEmpty()) {
                    this.write(rows, told);
                } else if (this.named == null) {
                    String id = (String) this.ids.get(task.partitionId());
                    this.commit(Producers.of(this.run, this.settings, id), rows, told);
                } else {
                    this.commitOnce((String) this.ids.get(task.partitionId()), rows, told);
                }
            } catch (Exception error) { // of any kind: what is Scala's declares none
                told = Collections.singletonList(new Object[] {kind(error), text(error)});
            }
            return told;
        }

        /** With a producer for this task alone, if the run is still the one that may write. */
        private void commitOnce(String id, Iterator rows, List told) throws Exception {
            KafkaProducer producer = Producers.transactional(this.settings, id);
            try {
                this.refuseUnlessNamed(id);
                this.commit(producer, rows, told);
            } catch (Exception error) {
                if ("fenced".equals(kind(error))) {
                    this.refuseUnlessNamed(id);
                    throw new IllegalStateException("its producer was opened elsewhere, too");
                }
                throw error;
            } finally {
                producer.close(Duration.ofSeconds(5));
            }
        }

        private void refuseUnlessNamed(String id) throws Exception {
            if (!this.run.equals(Names.read(this.settings, this.named, id))) {
                throw new ProducerFencedException("another run of the connector has begun");
            }
        }

        private void commit(KafkaProducer producer, Iterator rows, List told) throws Exception {
            boolean open = false;
            boolean done = false;
            try {
                while (rows.hasNext()) {
                    InternalRow row = (InternalRow) rows.next();
                    if (row.isNullAt(0)) {
                        told.add(row.getBinary(2));
                        if (isFailure(row)) {
                            return;
                        }
                        continue;
                    }
                    ProducerRecord record = record(row);
                    Topics.ensure(this.run, this.settings, this.topics, record.topic());
                    if (!open) {
                        producer.beginTransaction();
                        open = true;
                    }
                    producer.send(record);
                }
                if (open) {
                    producer.commitTransaction(); // fails if any of the rows could not be sent
                }
                done = true;
            } finally {
                if (open && !done) {
                    abort(producer);
                }
            }
        }

        private void write(Iterator rows, List told) throws Exception {
            List sent = new ArrayList();
            while (rows.hasNext()) {
                InternalRow row = (InternalRow) rows.next();
                if (row.isNullAt(0)) {
                    told.add(row.getBinary(2));
                } else {
                    ProducerRecord record = record(row);
                    Topics.ensure(this.run, this.settings, this.topics, record.topic());
                    sent.add(Producers.plain(this.run, this.settings).send(record));
                }
            }
            if (!sent.isEmpty()) {
                Producers.plain(this.run, this.settings).flush();
            }
            for (int at = 0; at < sent.size(); at++) {
                ((Future) sent.get(at)).get();
            }
        }

        private static boolean isFailure(InternalRow row) {
            return !row.isNullAt(1) && "failed".equals(new String(row.getBinary(1)));
        }

        /** What it fails with is less than what has failed already; the broker aborts it then. */
        private static void abort(KafkaProducer producer) {
            try {
                producer.abortTransaction();
            } catch (Exception error) {
                producer.close(Duration.ZERO);
            }
        }

        private static ProducerRecord record(InternalRow row) {
            String topic = row.getUTF8String(0).toString();
            byte[] key = row.isNullAt(1) ? null : row.getBinary(1);
            byte[] value = row.isNullAt(2) ? null : row.getBinary(2);
            List headers = row.isNullAt(3) ? null : headers(row.getArray(3));
            Integer partition = row.isNullAt(4) ? null : Integer.valueOf(row.getInt(4));
            Long time = row.isNullAt(5) ? null : Long.valueOf(row.getLong(5));
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

        /** What the run does about it: see failures.py. */
        private static String kind(Throwable error) {
            for (Throwable at = error; at != null; at = at.getCause()) {
                if (at instanceof ProducerFencedException
                    || at instanceof InvalidProducerEpochException) {
                    return "fenced";
                }
                if (at instanceof InvalidPidMappingException) {
                    return "lost"; // the broker forgets ids that nobody has used for a week
                }
                if (at instanceof RetriableException) {
                    return "unreachable";
                }
                if (at instanceof org.apache.kafka.common.KafkaException && at.getCause() == null) {
                    return "refused";
                }
            }
            return "lost";
        }

        private static String text(Throwable error) {
            StringBuilder text = new StringBuilder(error.toString());
            for (Throwable at = error.getCause(); at != null; at = at.getCause()) {
                text.append("\nCaused by: ").append(at.toString());
            }
            return text.toString();
        }
    }

    /** Which run may write under a transactional id: the last one that wrote its name down. */
    static final class Names {
        private Names() {}

        static void write(KafkaProducer producer, String topic, String id, String run) {
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(
                Collections.singletonMap(new TopicPartition(topic, 0), new OffsetAndMetadata(0L, run)),
                new ConsumerGroupMetadata(id));
            producer.commitTransaction();
        }

        static String read(Map settings, String topic, String id) throws Exception {
            AdminClient admin = AdminClient.create(new HashMap(settings));
            try {
                Map found = (Map) admin.listConsumerGroupOffsets(
                    id, new ListConsumerGroupOffsetsOptions().requireStable(true))
                    .partitionsToOffsetAndMetadata().get();
                OffsetAndMetadata name = (OffsetAndMetadata) found.get(new TopicPartition(topic, 0));
                return name == null ? null : name.metadata();
            } finally {
                admin.close(Duration.ofSeconds(5));
            }
        }
    }

    /** Those of this JVM, by run and transactional id. */
    static final class Producers {
        private static final Map KEPT = new HashMap();

        private Producers() {}

        static KafkaProducer of(String run, Map settings, String id) {
            Object place = Arrays.asList(new Object[] {run, id});
            synchronized (KEPT) {
                KafkaProducer kept = (KafkaProducer) KEPT.get(place);
                if (kept == null) {
                    kept = transactional(settings, id);
                    KEPT.put(place, kept);
                }
                return kept;
            }
        }

        static KafkaProducer plain(String run, Map settings) {
            Object place = Arrays.asList(new Object[] {run, null});
            synchronized (KEPT) {
                KafkaProducer kept = (KafkaProducer) KEPT.get(place);
                if (kept == null) {
                    kept = made(settings);
                    KEPT.put(place, kept);
                }
                return kept;
            }
        }

        static void keep(String run, String id, KafkaProducer producer) {
            synchronized (KEPT) {
                KEPT.put(Arrays.asList(new Object[] {run, id}), producer);
            }
        }

        static void close(String run) {
            List ended = new ArrayList();
            synchronized (KEPT) {
                for (Iterator all = KEPT.entrySet().iterator(); all.hasNext();) {
                    Map.Entry entry = (Map.Entry) all.next();
                    if (((List) entry.getKey()).get(0).equals(run)) {
                        ended.add(entry.getValue());
                        all.remove();
                    }
                }
            }
            for (int at = 0; at < ended.size(); at++) {
                ((KafkaProducer) ended.get(at)).close(Duration.ZERO);
            }
        }

        static KafkaProducer transactional(Map settings, String id) {
            Map producing = new HashMap();
            // A transaction is open while a slice is read, which may be a table: the most that
            // brokers allow unless they are told otherwise.
            producing.put("transaction.timeout.ms", "900000");
            producing.putAll(settings);
            producing.put("transactional.id", id);
            KafkaProducer producer = made(producing);
            boolean ready = false;
            try {
                producer.initTransactions();
                ready = true;
            } finally {
                if (!ready) {
                    producer.close(Duration.ZERO);
                }
            }
            return producer;
        }

        private static KafkaProducer made(Map settings) {
            Map producing = new HashMap();
            producing.put("linger.ms", "5");
            producing.put("batch.size", "262144");
            producing.put("buffer.memory", "67108864");
            // With the default of 100 ms every transaction would wait out the one before it.
            producing.put("retry.backoff.ms", "2");
            producing.putAll(settings);
            return new KafkaProducer(
                producing, new ByteArraySerializer(), new ByteArraySerializer());
        }
    }

    /**
     * Topics are made by the first rule that fits; where there is none, the broker may make them.
     * Each run asks anew: what was there for the last one may have been deleted.
     */
    static final class Topics {
        private static final Set KNOWN = Collections.synchronizedSet(new HashSet());

        private Topics() {}

        static void forget(String run) {
            synchronized (KNOWN) {
                for (Iterator all = KNOWN.iterator(); all.hasNext();) {
                    if (((List) all.next()).get(0).equals(run)) {
                        all.remove();
                    }
                }
            }
        }

        static void ensure(String run, Map settings, List rules, String topic) throws Exception {
            if (rules.isEmpty()) {
                return;
            }
            Object place = Arrays.asList(new Object[] {run, topic});
            if (KNOWN.contains(place)) {
                return;
            }
            for (int at = 0; at < rules.size(); at++) {
                List rule = (List) rules.get(at);
                if (Pattern.matches((String) rule.get(0), topic)
                    && !Pattern.matches((String) rule.get(1), topic)) {
                    make(settings, rule, topic);
                    break;
                }
            }
            KNOWN.add(place);
        }

        private static void make(Map settings, List rule, String topic) throws Exception {
            Map asking = new HashMap(settings);
            AdminClient admin = AdminClient.create(asking);
            try {
                // Asked first: who may write to a topic need not have the right to make one.
                if (((Set) admin.listTopics().names().get()).contains(topic)) {
                    return;
                }
                int partitions = ((Number) rule.get(2)).intValue();
                int replicas = ((Number) rule.get(3)).intValue();
                NewTopic wanted = new NewTopic(
                    topic,
                    partitions < 0 ? Optional.empty() : Optional.of(Integer.valueOf(partitions)),
                    replicas < 0 ? Optional.empty() : Optional.of(Short.valueOf((short) replicas)));
                wanted.configs((Map) rule.get(4));
                admin.createTopics(Collections.singleton(wanted)).all().get();
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof TopicExistsException)) {
                    throw error;
                }
            } finally {
                admin.close();
            }
        }
    }
}
