#!/bin/sh
# As kafka-topics.sh, for access rules.
exec java -Xmx256m -cp "$KAFKA_CLASS_PATH" org.apache.kafka.tools.AclCommand "$@"
