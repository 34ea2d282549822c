"""What Debezium's connectors share: envelope, service records, lists of names, kinds of keys."""
