// Kafka Streams doing the same four jobs as bench/pipelines.py, with its defaults.
// usage: java -cp 'libs/*' StreamsBench.java BOOTSTRAP JOB INPUT TABLE OUTPUT COUNT [NAME=VALUE]
// Prints "running" when it runs and "done SECONDS CPU_SECONDS" when COUNT records have passed.

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

public class StreamsBench {
    static double cpu() {
        var bean = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return bean.getProcessCpuTime() / 1e9;
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], job = args[1], input = args[2], table = args[3], output = args[4];
        long count = Long.parseLong(args[5]);
        var settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "streams-bench-" + UUID.randomUUID());
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("streams-bench").toString());
        settings.put("auto.offset.reset", "earliest");
        if (args.length > 6) settings.put(args[6].split("=")[0], args[6].split("=")[1]);

        var builder = new StreamsBuilder();
        var passed = new AtomicLong();
        var stream = builder.<String, String>stream(input).peek((key, value) -> passed.incrementAndGet());
        switch (job) {
            case "filter" -> stream.filter((key, value) -> value.endsWith("7")).to(output);
            case "count" -> stream.groupByKey().count().toStream()
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
            case "join" -> stream.join(builder.<String, String>table(table), (value, row) -> value + row).to(output);
            case "window" -> stream.groupByKey()
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
                .aggregate(() -> 0L, (key, value, sum) -> sum + Long.parseLong(value),
                    Materialized.with(Serdes.String(), Serdes.Long()))
                .toStream((window, value) -> window.key())
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
            default -> throw new IllegalArgumentException(job);
        }
        var streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) System.out.println("running");
        });
        streams.start();
        while (passed.get() == 0) Thread.sleep(1);
        long start = System.nanoTime();
        double before = cpu();
        while (passed.get() < count) Thread.sleep(1);
        System.out.printf("done %.3f %.3f%n", (System.nanoTime() - start) / 1e9, cpu() - before);
        System.in.read();  // stay for the measure of latency, until the caller closes our input
        streams.close(Duration.ofSeconds(5));
    }
}
