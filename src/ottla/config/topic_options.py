"""Options of a topic, with the broker options that hold where a topic says nothing.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance, flags,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
TOPIC = """
cleanup.policy list delete compact|delete cluster-wide medium < log.cleanup.policy
  What happens to old records: delete, compact, or both.
compression.gzip.level int -1 1..9|-1 cluster-wide medium < compression.gzip.level
  How hard gzip tries when the broker compresses; -1 is the codec's own default.
compression.lz4.level int 9 1..17 cluster-wide medium ignored < compression.lz4.level
  How hard lz4 tries when the broker compresses.
compression.type string producer uncompressed|zstd|lz4|snappy|gzip|producer cluster-wide medium < compression.type
  Codec in which batches are stored; producer keeps them as they come.
compression.zstd.level int 3 -131072..22 cluster-wide medium < compression.zstd.level
  How hard zstd tries when the broker compresses.
confluent.key.schema.validation boolean false - cluster-wide medium internal
  Refuse records whose key bears no id of a schema that the registry holds under its subject.
confluent.key.subject.name.strategy string io.confluent.kafka.serializers.subject.TopicNameStrategy io.confluent.kafka.serializers.subject.TopicNameStrategy|io.confluent.kafka.serializers.subject.RecordNameStrategy|io.confluent.kafka.serializers.subject.TopicRecordNameStrategy cluster-wide medium internal
  Under which subject the schema of a key has to stand.
confluent.value.schema.validation boolean false - cluster-wide medium internal
  Refuse records whose value bears no id of a schema that the registry holds under its subject.
confluent.value.subject.name.strategy string io.confluent.kafka.serializers.subject.TopicNameStrategy io.confluent.kafka.serializers.subject.TopicNameStrategy|io.confluent.kafka.serializers.subject.RecordNameStrategy|io.confluent.kafka.serializers.subject.TopicRecordNameStrategy cluster-wide medium internal
  Under which subject the schema of a value has to stand.
delete.retention.ms long 86400000 0.. cluster-wide medium < log.cleaner.delete.retention.ms
  How long tombstones stay in a compacted topic.
file.delete.delay.ms long 60000 0.. cluster-wide medium < log.segment.delete.delay.ms
  Wait between unlinking a segment from the log and removing its files.
flush.messages long 9223372036854775807 1.. cluster-wide medium < log.flush.interval.messages
  Records after which the log is forced to disk.
flush.ms long 9223372036854775807 0.. cluster-wide medium < log.flush.interval.ms log.flush.scheduler.interval.ms
  Time after which the log is forced to disk.
follower.replication.throttled.replicas list "" replicas cluster-wide medium
  Followers held to the replication quota, as PARTITION:BROKER, or *.
index.interval.bytes int 4096 0.. cluster-wide medium < log.index.interval.bytes
  Bytes between two entries of an index.
internal.segment.bytes int null - cluster-wide medium internal ignored
  Size of a segment without the usual lower limit, for tests.
leader.replication.throttled.replicas list "" replicas cluster-wide medium
  Leaders held to the replication quota, as PARTITION:BROKER, or *.
local.retention.bytes long -2 -2.. cluster-wide medium ignored < log.local.retention.bytes
  Bytes kept on local disk when the topic is tiered; -2 means as retention.bytes.
local.retention.ms long -2 -2.. cluster-wide medium ignored < log.local.retention.ms
  Time kept on local disk when the topic is tiered; -2 means as retention.ms.
max.compaction.lag.ms long 9223372036854775807 1.. cluster-wide medium < log.cleaner.max.compaction.lag.ms
  A record waits no longer than this for compaction.
max.message.bytes int 1048588 0.. cluster-wide medium < message.max.bytes
  Largest batch of records, after compression.
message.timestamp.after.max.ms long 3600000 0.. cluster-wide medium < log.message.timestamp.after.max.ms
  How far ahead of the broker's clock a record's time may lie.
message.timestamp.before.max.ms long 9223372036854775807 0.. cluster-wide medium < log.message.timestamp.before.max.ms
  How far behind the broker's clock a record's time may lie.
message.timestamp.type string CreateTime CreateTime|LogAppendTime cluster-wide medium < log.message.timestamp.type
  Whether a record's time is the producer's (CreateTime) or the broker's (LogAppendTime).
min.cleanable.dirty.ratio double 0.5 0..1 cluster-wide medium < log.cleaner.min.cleanable.ratio
  Share of the log that must be dirty before it is compacted.
min.compaction.lag.ms long 0 0.. cluster-wide medium < log.cleaner.min.compaction.lag.ms
  A record is safe from compaction for so long.
min.insync.replicas int 1 1.. cluster-wide medium < min.insync.replicas
  Replicas that must have a record before acks=all is answered.
preallocate boolean false - cluster-wide medium ignored < log.preallocate
  Reserve the whole file when a segment begins.
remote.log.copy.disable boolean false - cluster-wide medium ignored
  Copy nothing more to remote storage; what is there can be read.
remote.log.delete.on.disable boolean false - cluster-wide medium ignored
  Delete what is in remote storage when tiering is turned off.
remote.storage.enable boolean false - cluster-wide medium
  Keep old segments in remote storage.
retention.bytes long -1 - cluster-wide medium < log.retention.bytes
  Size beyond which a partition's oldest segments are deleted; -1 means no limit.
retention.ms long 604800000 -1.. cluster-wide medium < log.retention.ms log.retention.minutes log.retention.hours
  How long records are kept; -1 means for ever.
segment.bytes int 1073741824 1048576.. cluster-wide medium < log.segment.bytes
  Size at which a new segment begins.
segment.index.bytes int 10485760 4.. cluster-wide medium < log.index.size.max.bytes
  Size of an index file.
segment.jitter.ms long 0 0.. cluster-wide medium < log.roll.jitter.ms log.roll.jitter.hours
  Random part taken off the age of a segment, so that not all roll at once.
segment.ms long 604800000 1.. cluster-wide medium < log.roll.ms log.roll.hours
  Age at which a new segment begins.
unclean.leader.election.enable boolean false - cluster-wide medium < unclean.leader.election.enable
  Let a replica lead that is not in sync: available again, but records may be lost.
"""
