"""Streams and tables over topics, run by Spark.

This tower reaches brokers only as a client, so an application runs against Apache Kafka as it runs
against Ottla. `spark.py` makes the session; everything above it is definitions and checks.
"""
