"""Kafka Connect's REST, worker file and topics over connectors that are Spark jobs.

`data` is a record as Connect has it, `connector` what every connector is written against, `runs`
puts connectors to work on Spark, `herder` decides which of them run, `rest` is how they are asked
for. Absent: any import of the server; brokers are reached as clients reach them.
"""
