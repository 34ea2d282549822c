"""Options of a broker or controller: topics, their logs and the directories they lie in."""

# ruff: noqa: E501
LOGS = """
auto.create.topics.enable boolean true - read-only high
  Create a topic when a client first asks for it.
background.threads int 10 1.. cluster-wide high ignored gradual
  Threads for housekeeping.
compression.gzip.level int -1 1..9|-1 cluster-wide medium
  How hard gzip tries when the broker compresses; -1 is the codec's own default.
compression.lz4.level int 9 1..17 cluster-wide medium ignored
  How hard lz4 tries when the broker compresses.
compression.type string producer uncompressed|zstd|lz4|snappy|gzip|producer cluster-wide high
  Codec in which batches are stored; producer keeps them as they come.
compression.zstd.level int 3 -131072..22 cluster-wide medium
  How hard zstd tries when the broker compresses.
confluent.schema.registry.url list "" - read-only medium internal
  The schema registry, or several of one group, that topics with schema validation ask.
cordoned.log.dirs list "" - per-broker medium
  Log directories that get no new partitions; * means all.
delete.topic.enable boolean true - read-only high
  Allow topics to be deleted.
log.cleaner.backoff.ms long 15000 0.. cluster-wide medium
  Rest of a cleaner that found nothing to clean.
log.cleaner.dedupe.buffer.size long 134217728 - cluster-wide medium ignored
  Memory in which compaction remembers keys, over all cleaners.
log.cleaner.delete.retention.ms long 86400000 0.. cluster-wide medium
  How long tombstones stay in a compacted log.
log.cleaner.enable boolean true - read-only medium
  Run the cleaner; without it compacted topics grow for ever.
log.cleaner.io.buffer.load.factor double 0.9 - cluster-wide medium ignored
  How full the memory for keys may get.
log.cleaner.io.buffer.size int 524288 0.. cluster-wide medium ignored
  Memory for reading and writing during compaction, over all cleaners.
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster-wide medium ignored
  Speed limit of compaction, reading and writing together.
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. cluster-wide medium
  A record waits no longer than this for compaction.
log.cleaner.min.cleanable.ratio double 0.5 0..1 cluster-wide medium
  Share of a log that must be dirty before it is compacted.
log.cleaner.min.compaction.lag.ms long 0 0.. cluster-wide medium
  A record is safe from compaction for so long.
log.cleaner.threads int 1 0.. cluster-wide medium ignored gradual
  Cleaners that work at once.
log.cleanup.policy list delete compact|delete cluster-wide medium
  What happens to old records: delete, compact, or both.
log.dir list /tmp/kafka-logs - read-only high
  One data directory; log.dirs is asked first.
log.dir.failure.timeout.ms long 30000 1.. read-only low ignored
  A broker stops when it cannot tell the controller of a failed directory for so long.
log.dirs list null - read-only high
  Data directories, with commas between.
log.flush.interval.messages long 9223372036854775807 1.. cluster-wide high
  Records after which a log is forced to disk.
log.flush.interval.ms long null - cluster-wide high < log.flush.scheduler.interval.ms
  Time after which a log is forced to disk.
log.flush.offset.checkpoint.interval.ms int 60000 0.. read-only high ignored
  Time between writes of the recovery points.
log.flush.scheduler.interval.ms long 9223372036854775807 - read-only high
  Time between searches for logs that must be forced to disk.
log.flush.start.offset.checkpoint.interval.ms int 60000 0.. read-only high ignored
  Time between writes of the log start offsets.
log.index.interval.bytes int 4096 0.. cluster-wide medium
  Bytes between two entries of an index.
log.index.size.max.bytes int 10485760 4.. cluster-wide medium
  Size of an index file.
log.initial.task.delay.ms long 30000 0.. read-only low internal ignored
  Wait after the start before housekeeping of logs begins.
log.message.timestamp.after.max.ms long 3600000 0.. cluster-wide medium
  How far ahead of the broker's clock a record's time may lie.
log.message.timestamp.before.max.ms long 9223372036854775807 0.. cluster-wide medium
  How far behind the broker's clock a record's time may lie.
log.message.timestamp.type string CreateTime CreateTime|LogAppendTime cluster-wide medium
  Whether a record's time is the producer's (CreateTime) or the broker's (LogAppendTime).
log.preallocate boolean false - cluster-wide medium ignored
  Reserve the whole file when a segment begins.
log.retention.bytes long -1 - cluster-wide high
  Size beyond which a partition's oldest segments are deleted; -1 means no limit.
log.retention.check.interval.ms long 300000 1.. read-only medium
  Time between searches for segments to delete.
log.retention.hours int 168 - read-only high
  How long records are kept, in hours; the finer units are asked first.
log.retention.minutes int null - read-only high
  How long records are kept, in minutes; log.retention.ms is asked first.
log.retention.ms long null - cluster-wide high < log.retention.minutes log.retention.hours
  How long records are kept; -1 means for ever.
log.roll.hours int 168 1.. read-only high
  Age at which a new segment begins, in hours; log.roll.ms is asked first.
log.roll.jitter.hours int 0 0.. read-only high
  Random part taken off the age of a segment, in hours.
log.roll.jitter.ms long null - cluster-wide high < log.roll.jitter.hours
  Random part taken off the age of a segment, so that not all roll at once.
log.roll.ms long null - cluster-wide high < log.roll.hours
  Age at which a new segment begins.
log.segment.bytes int 1073741824 1048576.. cluster-wide high
  Size at which a new segment begins.
log.segment.delete.delay.ms long 60000 0.. cluster-wide high
  Wait between unlinking a segment from the log and removing its files.
message.max.bytes int 1048588 0.. cluster-wide high
  Largest batch of records, after compression.
num.partitions int 1 1.. read-only medium
  Partitions of a topic that does not say how many it wants.
num.recovery.threads.per.data.dir int 2 1.. cluster-wide high ignored gradual
  Threads that load and recover logs, for each data directory.
num.replica.alter.log.dirs.threads int null - read-only high ignored
  Threads that move replicas between data directories.
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. cluster-wide medium internal
  Speed limit of moves between log directories of this broker.
"""
