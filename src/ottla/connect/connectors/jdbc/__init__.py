"""Tables as sources and as targets, under Confluent's, Aiven's and Debezium's key names for JDBC.

A JDBC URL names the database; Python's own drivers speak to it, so no jar is needed. What databases
do differently is a `Dialect` (`dialects`, a file each). The source plans ranges in the worker
(`source`) and reads them in Spark's tasks (`slices`); the sink writes rows and the offset behind
them in one transaction (`sink`, `writing`).
"""
