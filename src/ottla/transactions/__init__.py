"""Transactions: which partitions a producer's open transaction holds, and how it ends.

`machine` decides, `records` is the form on `__transaction_state`, `markers` brings the end of a
transaction to its partitions, `coordinator` joins them over a shard. What a partition does with
a marker (last stable offset, aborted index) lives in `log`.
"""
