"""Options of a broker or controller: replicas, their leaders and how they follow."""

REPLICATION = """
auto.leader.rebalance.enable boolean true - read-only high
  Give leadership back to preferred replicas from time to time.
default.replication.factor int 1 - read-only medium
  Replicas of a topic that does not say how many it wants.
follower.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  Bytes a second at which throttled replicas of this broker may fetch.
leader.imbalance.check.interval.seconds long 300 1.. read-only high
  Time between searches for leaders that are not the preferred ones.
leader.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  Bytes a second at which this broker may serve throttled replicas.
min.insync.replicas int 1 1.. cluster-wide high
  Replicas that must have a record before acks=all is answered.
num.replica.fetchers int 1 1.. cluster-wide high ignored gradual
  Fetchers for each broker from which replicas are copied.
replica.fetch.backoff.ms int 1000 0.. read-only medium ignored
  Rest of a replica's fetcher after an error.
replica.fetch.max.bytes int 1048576 0.. read-only medium
  Bytes a replica asks for of each partition.
replica.fetch.min.bytes int 1 - read-only high
  Fewest bytes worth an answer to a replica's fetch.
replica.fetch.response.max.bytes int 10485760 0.. read-only medium
  Bytes a replica asks for over all partitions.
replica.fetch.wait.max.ms int 500 - read-only high
  Longest wait of a replica's fetch for the fewest bytes.
replica.high.watermark.checkpoint.interval.ms long 5000 - read-only high ignored
  Time between writes of the high watermarks.
replica.lag.time.max.ms long 30000 - read-only high
  A follower that has not caught up for so long leaves the in-sync set.
replica.selector.class string null - read-only medium
  Java class that picks the replica a consumer should read from.
replica.socket.receive.buffer.bytes int 65536 - read-only high ignored
  Receive buffer of the connection a replica fetches over.
replica.socket.timeout.ms int 30000 - read-only high ignored
  How long a replica's request may take.
unclean.leader.election.enable boolean false - cluster-wide high
  Let a replica lead that is not in sync: available again, but records may be lost.
unclean.leader.election.interval.ms long 300000 1.. read-only medium internal
  Time between searches for partitions that need an unclean election.
"""
