"""Replicas of partitions on this node: which it leads, which it follows, what is committed.

`in_sync` is pure; `leader` joins it with a log; `partitions` turns the metadata image into roles.
Bytes and files are `log`'s, wire messages are `broker`'s, elections are the controller's.
"""
