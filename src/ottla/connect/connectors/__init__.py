"""The connectors that come with Ottla, a file or a folder each. Kafka is only records to them."""
