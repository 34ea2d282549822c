package ottla;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.kafka010.KafkaSourceRDD;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * What a sink reads, as frames: Spark's own reader of Kafka over ranges that are known.
 *
 * Its batch source would ask an admin client of its own for the topic's partitions, for each job,
 * and make each record a row of objects and back with all its columns; the reader below it does
 * neither.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class SinkRecords {
    private final org.apache.spark.sql.classic.SparkSession spark;
    private final Map settings;
    private final long pollTimeoutMs;

    /** `settings`: of consumers, `group.id` among them. */
    public SinkRecords(SparkSession spark, Map settings) {
        this.spark = (org.apache.spark.sql.classic.SparkSession) spark;
        this.settings = KafkaSourceProvider.kafkaParamsForExecutors(
            Map$.MODULE$.from(CollectionConverters.asScala(new HashMap(settings))), "");
        this.pollTimeoutMs =
            spark.sparkContext().conf().getTimeAsSeconds("spark.network.timeout", "120s") * 1000L;
    }

    /**
     * A partition for each range. `ranges`: lines of topic, partition, begin and end, with blanks
     * between them. `places`: with topic and partition; `rest`: with time and headers.
     */
    public Dataset frame(String ranges, boolean places, boolean rest) {
        List wanted = new ArrayList();
        String[] lines = ranges.split("\n");
        for (int at = 0; at < lines.length; at++) {
            String[] said = lines[at].split(" ");
            TopicPartition place = new TopicPartition(said[0], Integer.parseInt(said[1]));
            long begin = Long.parseLong(said[2]);
            long end = Long.parseLong(said[3]);
            wanted.add(new KafkaOffsetRange(place, begin, end, Option.empty()));
        }
        RDD records = new KafkaSourceRDD(
            this.spark.sparkContext(), this.settings,
            CollectionConverters.asScala(wanted).toSeq(), this.pollTimeoutMs, true);
        RDD rows = records.map(new ToRow(places, rest), ClassTag$.MODULE$.apply(Object.class));
        return this.spark.internalCreateDataFrame(rows, schema(places, rest), false);
    }

    private static StructType schema(boolean places, boolean rest) {
        StructType schema = new StructType();
        if (places) {
            schema = schema.add("topic", DataTypes.StringType);
            schema = schema.add("partition", DataTypes.IntegerType);
        }
        schema = schema.add("offset", DataTypes.LongType);
        schema = schema.add("key", DataTypes.BinaryType);
        schema = schema.add("value", DataTypes.BinaryType);
        if (rest) {
            StructType header = new StructType()
                .add("key", DataTypes.StringType)
                .add("value", DataTypes.BinaryType);
            schema = schema.add("time", DataTypes.LongType);
            schema = schema.add("headers", DataTypes.createArrayType(header));
        }
        return schema;
    }

    /** Runs in the executors, once for each record. */
    public static final class ToRow extends AbstractFunction1 implements Serializable {
        private final boolean places;
        private final boolean rest;

        ToRow(boolean places, boolean rest) {
            this.places = places;
            this.rest = rest;
        }

        public Object apply(Object of) {
            ConsumerRecord record = (ConsumerRecord) of;
            Object[] row = new Object[3 + (this.places ? 2 : 0) + (this.rest ? 2 : 0)];
            int at = 0;
            if (this.places) {
                row[at++] = UTF8String.fromString(record.topic());
                row[at++] = Integer.valueOf(record.partition());
            }
            row[at++] = Long.valueOf(record.offset());
            row[at++] = record.key();
            row[at++] = record.value();
            if (this.rest) {
                row[at++] = Long.valueOf(record.timestamp());
                row[at] = headers(record);
            }
            return new GenericInternalRow(row);
        }

        private static Object headers(ConsumerRecord record) {
            Iterator all = record.headers().iterator();
            if (!all.hasNext()) {
                return null;
            }
            List pairs = new ArrayList();
            while (all.hasNext()) {
                Header one = (Header) all.next();
                Object[] pair = new Object[] {UTF8String.fromString(one.key()), one.value()};
                pairs.add(new GenericInternalRow(pair));
            }
            return new GenericArrayData(pairs.toArray());
        }
    }
}
