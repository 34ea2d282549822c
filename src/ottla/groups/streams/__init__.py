"""Streams groups (KIP-1071): members of a Kafka Streams application share its tasks.

A task is one partition of one subtopology. The members tell the coordinator their topology; it
makes the topics the topology needs, deals the tasks out, active and standby, and leads every
member from what it has to what it should have, as the consumer protocol does with partitions.
"""
