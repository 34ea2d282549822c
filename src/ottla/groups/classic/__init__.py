"""The classic protocol: members meet at a barrier, and one of them assigns the partitions.

`group` is the state and its small rules, `rebalance` the way from one generation to the next,
`joining`, `syncing`, `heartbeats` and `leaving` what the four requests do to it, `records` how it
is written and read. The coordinator never looks into what members tell each other, except for
the topics that consumers subscribe to: their offsets do not expire.
"""
