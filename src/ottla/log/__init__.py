"""The log in Apache Kafka's own files: segments, indexes, producer states, recovery, cleaning.

Synchronous and single-threaded: called on the event loop's thread, which owns every log. Jobs that
may block (flushes, cold reads, cleaning) are objects to be run elsewhere and handed back.
"""
