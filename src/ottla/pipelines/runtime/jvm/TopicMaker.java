package ottla;

import java.io.Serializable;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;

/**
 * The topic of a row, made where it is not there: as a SQL function, so that both of Spark's engines
 * and both of our sinks call it before they write the row. It asks the brokers once for each topic.
 *
 * Compiled by Janino, which knows neither type arguments nor lambdas: see compiled.py.
 */
public final class TopicMaker implements UDF1, Serializable {
    private static final Map KNOWN = new ConcurrentHashMap(); // by brokers: the topics that are there

    private final Map settings; // of the client
    private final Integer partitions;
    private final Map config; // of the topics

    TopicMaker(Map settings, Integer partitions, Map config) {
        this.settings = new HashMap(settings); // what Python passed is a view that cannot travel
        this.partitions = partitions;
        this.config = new HashMap(config);
    }

    /** The settings travel inside the function: in a plan, which Spark shows, they would be seen. */
    public static void register(
        SparkSession spark, String name, Map settings, int partitions, Map config) {
        TopicMaker maker = new TopicMaker(settings, Integer.valueOf(partitions), config);
        spark.udf().register(name, maker, DataTypes.StringType);
    }

    public Object call(Object topic) throws Exception {
        if (topic != null) {
            Object brokers = this.settings.get("bootstrap.servers");
            KNOWN.putIfAbsent(brokers, ConcurrentHashMap.newKeySet());
            Set known = (Set) KNOWN.get(brokers);
            if (!known.contains(topic)) {
                this.make((String) topic);
                known.add(topic);
            }
        }
        return topic;
    }

    private void make(String topic) throws Exception {
        AdminClient admin = AdminClient.create(this.settings);
        try {
            // Asked first: who may write to a topic need not have the right to make one.
            if (((Set) admin.listTopics().names().get()).contains(topic)) {
                return;
            }
            NewTopic wanted = new NewTopic(topic, Optional.of(this.partitions), Optional.empty());
            wanted.configs(this.config);
            admin.createTopics(Collections.singleton(wanted)).all().get();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof TopicExistsException)) {
                throw new IllegalStateException("the topic " + topic + " of a row is not there "
                    + "and could not be made: " + error.getCause().getMessage());
            }
        } finally {
            admin.close();
        }
    }
}
