"""JSON Schemas: document to tree, and what may read what.

Pure. Instances are validated elsewhere; no reference is ever fetched from a network.
"""
