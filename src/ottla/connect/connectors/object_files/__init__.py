"""Records as files of an object store or of HDFS, under the keys of Confluent's connectors.

`partitioning` says in which folder a record belongs, `cutting` where files end, `formats` what is
in them, `stores` where they go; `sink` puts these together.
"""
