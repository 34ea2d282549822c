"""Protobuf schemas: text or descriptor to tree, tree to text, and what may read what.

Pure but for `compiler`, which asks the real protoc, in a process of its own.
"""
