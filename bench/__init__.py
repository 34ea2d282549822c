"""Apache Kafka and Ottla side by side through the same client. `make bench`, or `make bench
ARGS=--quick` for a look within minutes. Each module says what it measures."""
