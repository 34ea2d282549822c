import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What the Java client sees, as plain values: the assertions are in the Python tests. */
public final class Scenarios {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long PATIENCE_MS = 30_000;

    private static Properties properties(JsonNode args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args.get("bootstrap").asText());
        args.path("config").properties()
            .forEach(entry -> properties.put(entry.getKey(), entry.getValue().asText()));
        return properties;
    }

    private static KafkaProducer<String, String> producer(JsonNode args) {
        return new KafkaProducer<>(
            properties(args), new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(JsonNode args) {
        return new KafkaConsumer<>(
            properties(args), new StringDeserializer(), new StringDeserializer());
    }

    private static List<ConsumerRecord<String, String>> take(
            KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (records.size() < count && System.currentTimeMillis() < deadline) {
            consumer.poll(POLL).forEach(records::add);
        }
        return records;
    }

    private static String codeOf(Future<?> future) throws InterruptedException {
        try {
            future.get();
            return "none";
        } catch (ExecutionException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
    }

    /** Sends `count` values, idempotently as the client does by default. */
    public static Map<String, Object> produce(JsonNode args) throws Exception {
        List<Long> offsets = new ArrayList<>();
        try (KafkaProducer<String, String> producer = producer(args)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = 0; n < args.get("count").asInt(); n++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(
                    args.get("topic").asText(), 0, 1_700_000_000_000L + n, "key" + n, "value" + n);
                record.headers().add(new RecordHeader("n", new byte[] {(byte) n}));
                sent.add(producer.send(record));
            }
            for (Future<RecordMetadata> future : sent) {
                offsets.add(future.get().offset());
            }
        }
        return Map.of("offsets", offsets);
    }

    /** Reads through a group, commits half way, reads again, seeks, and asks for offsets. */
    public static Map<String, Object> consume(JsonNode args) {
        String topic = args.get("topic").asText();
        int count = args.get("count").asInt();
        TopicPartition place = new TopicPartition(topic, 0);
        Map<String, Object> result = new LinkedHashMap<>();
        try (KafkaConsumer<String, String> consumer = consumer(args)) {
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> records = take(consumer, count);
            result.put("values", records.stream().map(ConsumerRecord::value).toList());
            result.put("timestamps", records.stream().map(ConsumerRecord::timestamp).toList());
            result.put("headers", records.stream()
                .map(r -> (int) r.headers().lastHeader("n").value()[0]).toList());
            consumer.commitSync(Map.of(place, new OffsetAndMetadata(count / 2, "half")));
        }
        try (KafkaConsumer<String, String> consumer = consumer(args)) {
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<String, String>> rest = take(consumer, count - count / 2);
            result.put("rest", rest.stream().map(ConsumerRecord::offset).toList());
            result.put("committed", consumer.committed(Set.of(place)).get(place).metadata());
            consumer.seek(place, 3);
            result.put("sought", take(consumer, 1).get(0).offset());
            result.put("end", consumer.endOffsets(Set.of(place)).get(place));
            result.put("beginning", consumer.beginningOffsets(Set.of(place)).get(place));
            result.put("byTime", consumer
                .offsetsForTimes(Map.of(place, 1_700_000_000_005L)).get(place).offset());
        }
        return result;
    }

    /** The admin client, from making a topic to deleting it. */
    public static Map<String, Object> admin(JsonNode args) throws Exception {
        String topic = args.get("topic").asText();
        Map<String, Object> result = new LinkedHashMap<>();
        try (Admin admin = Admin.create(properties(args))) {
            NewTopic wanted = new NewTopic(topic, 2, (short) 1)
                .configs(Map.of("retention.ms", "123456"));
            admin.createTopics(List.of(wanted)).all().get();
            result.put("again", codeOf(admin.createTopics(List.of(wanted)).all()));
            result.put("partitions", admin.describeTopics(List.of(topic))
                .allTopicNames().get().get(topic).partitions().size());
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            admin.incrementalAlterConfigs(Map.of(resource, (Collection<AlterConfigOp>) List.of(
                new AlterConfigOp(
                    new ConfigEntry("cleanup.policy", "compact,delete"), AlterConfigOp.OpType.SET)
            ))).all().get();
            Map<String, String> configs = new TreeMap<>();
            admin.describeConfigs(List.of(resource)).all().get().get(resource).entries().stream()
                .filter(entry -> !entry.isDefault())
                .forEach(entry -> configs.put(entry.name(), entry.value()));
            result.put("configs", configs);
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            TopicPartition place = new TopicPartition(topic, 0);
            try (KafkaProducer<String, String> producer = producer(args)) {
                for (int n = 0; n < 10; n++) {
                    producer.send(new ProducerRecord<>(topic, 0, "k", "v" + n)).get();
                }
                result.put("producers", admin.describeProducers(List.of(place))
                    .all().get().get(place).activeProducers().size());
            }
            result.put("latest", admin.listOffsets(Map.of(place, OffsetSpec.latest()))
                .all().get().get(place).offset());
            result.put("lowWatermark", admin
                .deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(4)))
                .lowWatermarks().get(place).get().lowWatermark());
            result.put("earliest", admin.listOffsets(Map.of(place, OffsetSpec.earliest()))
                .all().get().get(place).offset());
            result.put("nodes", admin.describeCluster().nodes().get().size());
            result.put("replicaSizeIsPositive", admin.describeLogDirs(List.of(1))
                .allDescriptions().get().get(1).values().iterator().next()
                .replicaInfos().get(place).size() > 0);
            Map<String, Object> features = new TreeMap<>();
            admin.describeFeatures().featureMetadata().get().finalizedFeatures()
                .forEach((name, range) -> features.put(name, range.maxVersionLevel()));
            result.put("features", features);
            result.put("quorumLeader", admin.describeMetadataQuorum().quorumInfo().get().leaderId());
            result.put("configResources", admin.listConfigResources().all().get().stream()
                .anyMatch(resource::equals));
            admin.deleteTopics(List.of(topic)).all().get();
        }
        return result;
    }

    /** Commits one transaction, aborts another, and reads at both isolation levels. */
    public static Map<String, Object> transactions(JsonNode args) throws Exception {
        String topic = args.get("topic").asText();
        try (KafkaProducer<String, String> producer = producer(args)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, "k", "committed"));
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, "k", "aborted"));
            producer.flush();
            producer.abortTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, "k", "after"));
            producer.commitTransaction();
        }
        Map<String, Object> result = new LinkedHashMap<>();
        for (Map.Entry<String, Integer> level
                : Map.of("read_committed", 2, "read_uncommitted", 3).entrySet()) {
            Properties properties = properties(args);
            properties.remove("transactional.id");
            properties.put("isolation.level", level.getKey());
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                    properties, new StringDeserializer(), new StringDeserializer())) {
                TopicPartition place = new TopicPartition(topic, 0);
                consumer.assign(List.of(place));
                consumer.seekToBeginning(List.of(place));
                result.put(level.getKey(), take(consumer, level.getValue()).stream()
                    .map(ConsumerRecord::value).toList());
            }
        }
        return result;
    }

    /**
     * Transactions right after one another, each over all partitions of the topic. `shape` is
     * plain, offsets (committed before anything is sent) or abort (each commit is followed by a
     * transaction that is aborted while its records may not have left yet).
     */
    public static Map<String, Object> transactionLoop(JsonNode args) {
        String shape = args.get("shape").asText();
        int count = args.get("count").asInt();
        int committed = 0;
        Map<String, Integer> failures = new TreeMap<>();
        try (KafkaProducer<String, String> producer = producer(args)) {
            producer.initTransactions();
            for (int n = 0; n < count; n++) {
                try {
                    producer.beginTransaction();
                    if (shape.equals("offsets")) {
                        producer.sendOffsetsToTransaction(
                            Map.of(new TopicPartition(args.get("topic").asText(), 0),
                                new OffsetAndMetadata(n + 1)),
                            new ConsumerGroupMetadata(args.get("group").asText()));
                    }
                    sendToAll(producer, args, String.valueOf(n));
                    // The client's sender asks whether records are left, and only then takes the
                    // next request: what is sent and committed in between is ended before it left.
                    producer.flush();
                    producer.commitTransaction();
                    committed++;
                    if (shape.equals("abort")) {
                        producer.beginTransaction();
                        sendToAll(producer, args, "aborted " + n);
                        producer.abortTransaction();
                    }
                } catch (ProducerFencedException | InvalidPidMappingException fatal) {
                    failures.merge(fatal.toString(), 1, Integer::sum);
                    break;
                } catch (KafkaException failed) {
                    failures.merge(failed.toString(), 1, Integer::sum);
                    try {
                        producer.abortTransaction();
                    } catch (KafkaException dead) {
                        failures.merge("dead: " + dead, 1, Integer::sum);
                        break;
                    }
                }
            }
        }
        return Map.of("committed", committed, "failures", failures);
    }

    private static void sendToAll(
            KafkaProducer<String, String> producer, JsonNode args, String value) {
        for (int partition = 0; partition < args.get("partitions").asInt(); partition++) {
            producer.send(
                new ProducerRecord<>(args.get("topic").asText(), partition, "k", value));
        }
    }

    /** Takes records from a share group, accepting even ones and releasing odd ones once. */
    public static Map<String, Object> share(JsonNode args) throws Exception {
        Map<String, Integer> deliveries = new HashMap<>();
        Set<String> accepted = new java.util.TreeSet<>();
        Properties properties = properties(args);
        properties.put("share.acknowledgement.mode", "explicit");
        String group = args.get("config").get("group.id").asText();
        try (Admin admin = Admin.create(properties(args))) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            admin.incrementalAlterConfigs(Map.of(resource, (Collection<AlterConfigOp>) List.of(
                new AlterConfigOp(
                    new ConfigEntry("share.auto.offset.reset", "earliest"),
                    AlterConfigOp.OpType.SET)
            ))).all().get();
        }
        int count = args.get("count").asInt();
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(
                properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(args.get("topic").asText()));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (accepted.size() < count && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    int times = deliveries.merge(record.value(), 1, Integer::sum);
                    boolean odd = record.offset() % 2 == 1;
                    if (odd && times == 1) {
                        consumer.acknowledge(record, AcknowledgeType.RELEASE);
                    } else {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                        accepted.add(record.value());
                    }
                }
                consumer.commitSync();
            }
        }
        return Map.of(
            "accepted", accepted.size(),
            "twice", deliveries.values().stream().filter(times -> times == 2).count(),
            "more", deliveries.values().stream().filter(times -> times > 2).count());
    }
}
