"""Who is told what: every API, version and principal, asked of Apache Kafka once and recorded.

`people` are principals with one rule more or less than others, `questions` a harmless request for
each API, `asking` puts them, `table` is the record. `make rights` asks Apache Kafka anew.
"""
