"""Options of a topic, with the broker options that hold where a topic says nothing.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
TOPIC = """
cleanup.policy list delete compact|delete cluster-wide medium < log.cleanup.policy
  -
compression.gzip.level int -1 1..9|-1 cluster-wide medium < compression.gzip.level
  -
compression.lz4.level int 9 1..17 cluster-wide medium < compression.lz4.level
  -
compression.type string producer uncompressed|zstd|lz4|snappy|gzip|producer cluster-wide medium < compression.type
  -
compression.zstd.level int 3 -131072..22 cluster-wide medium < compression.zstd.level
  -
delete.retention.ms long 86400000 0.. cluster-wide medium < log.cleaner.delete.retention.ms
  -
file.delete.delay.ms long 60000 0.. cluster-wide medium < log.segment.delete.delay.ms
  -
flush.messages long 9223372036854775807 1.. cluster-wide medium < log.flush.interval.messages
  -
flush.ms long 9223372036854775807 0.. cluster-wide medium < log.flush.interval.ms log.flush.scheduler.interval.ms
  -
follower.replication.throttled.replicas list "" replicas cluster-wide medium
  -
index.interval.bytes int 4096 0.. cluster-wide medium < log.index.interval.bytes
  -
internal.segment.bytes int null - cluster-wide medium internal
  -
leader.replication.throttled.replicas list "" replicas cluster-wide medium
  -
local.retention.bytes long -2 -2.. cluster-wide medium < log.local.retention.bytes
  -
local.retention.ms long -2 -2.. cluster-wide medium < log.local.retention.ms
  -
max.compaction.lag.ms long 9223372036854775807 1.. cluster-wide medium < log.cleaner.max.compaction.lag.ms
  -
max.message.bytes int 1048588 0.. cluster-wide medium < message.max.bytes
  -
message.timestamp.after.max.ms long 3600000 0.. cluster-wide medium < log.message.timestamp.after.max.ms
  -
message.timestamp.before.max.ms long 9223372036854775807 0.. cluster-wide medium < log.message.timestamp.before.max.ms
  -
message.timestamp.type string CreateTime CreateTime|LogAppendTime cluster-wide medium < log.message.timestamp.type
  -
min.cleanable.dirty.ratio double 0.5 0..1 cluster-wide medium < log.cleaner.min.cleanable.ratio
  -
min.compaction.lag.ms long 0 0.. cluster-wide medium < log.cleaner.min.compaction.lag.ms
  -
min.insync.replicas int 1 1.. cluster-wide medium < min.insync.replicas
  -
preallocate boolean false - cluster-wide medium < log.preallocate
  -
remote.log.copy.disable boolean false - cluster-wide medium
  -
remote.log.delete.on.disable boolean false - cluster-wide medium
  -
remote.storage.enable boolean false - cluster-wide medium
  -
retention.bytes long -1 - cluster-wide medium < log.retention.bytes
  -
retention.ms long 604800000 -1.. cluster-wide medium < log.retention.ms log.retention.minutes log.retention.hours
  -
segment.bytes int 1073741824 1048576.. cluster-wide medium < log.segment.bytes
  -
segment.index.bytes int 10485760 4.. cluster-wide medium < log.index.size.max.bytes
  -
segment.jitter.ms long 0 0.. cluster-wide medium < log.roll.jitter.ms log.roll.jitter.hours
  -
segment.ms long 604800000 1.. cluster-wide medium < log.roll.ms log.roll.hours
  -
unclean.leader.election.enable boolean false - cluster-wide medium < unclean.leader.election.enable
  -
"""
