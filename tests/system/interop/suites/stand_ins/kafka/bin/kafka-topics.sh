#!/bin/sh
# Where a suite expects Apache Kafka's folder: the same tool out of its jars.
exec java -Xmx256m -cp "$KAFKA_CLASS_PATH" org.apache.kafka.tools.TopicCommand "$@"
