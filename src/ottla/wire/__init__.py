"""Bytes of Kafka's protocol: frames, messages, record batches. No sockets, no files, no clock."""
