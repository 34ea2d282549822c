"""Avro schemas: text to tree, tree to the text that Apache Avro writes, and what may read what.

Pure. Data is not read here.
"""
