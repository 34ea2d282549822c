"""Options of a broker or controller: tiered storage, which is not here."""

# ruff: noqa: E501
REMOTE_STORAGE = """
follower.fetch.last.tiered.offset.enable boolean false - cluster-wide medium ignored
  A new follower starts behind what has been copied to remote storage.
log.local.retention.bytes long -2 -2.. cluster-wide medium ignored
  Bytes kept on local disk when a topic is tiered; -2 means as log.retention.bytes.
log.local.retention.ms long -2 -2.. cluster-wide medium ignored
  Time kept on local disk when a topic is tiered; -2 means as log.retention.ms.
remote.fetch.max.wait.ms int 500 1.. cluster-wide medium ignored
  Longest wait for a read from remote storage.
remote.list.offsets.request.timeout.ms long 30000 1.. cluster-wide medium ignored
  Longest wait for an offset looked up in remote storage.
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster-wide low ignored
  Disk space for indexes fetched from remote storage.
remote.log.index.file.cache.ttl.ms long 900000 -1.. read-only low internal ignored
  How long an index fetched from remote storage is kept unused; -1 means for ever.
remote.log.manager.copier.thread.pool.size int 10 1.. cluster-wide medium ignored
  Threads that copy segments to remote storage.
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster-wide medium ignored
  Speed limit of copying to remote storage.
remote.log.manager.copy.quota.window.num int 11 1.. read-only medium ignored
  Number of samples kept for the limit of copying to remote storage.
remote.log.manager.copy.quota.window.size.seconds int 1 1.. read-only medium ignored
  Length of one sample of the limit of copying to remote storage.
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster-wide medium ignored
  Threads that delete old segments from remote storage.
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster-wide medium ignored
  Speed limit of reading from remote storage.
remote.log.manager.fetch.quota.window.num int 11 1.. read-only medium ignored
  Number of samples kept for the limit of reading from remote storage.
remote.log.manager.fetch.quota.window.size.seconds int 1 1.. read-only medium ignored
  Length of one sample of the limit of reading from remote storage.
remote.log.manager.follower.thread.pool.size int 2 1.. cluster-wide medium ignored
  Threads of followers of tiered partitions.
remote.log.manager.task.interval.ms long 30000 1.. read-only low ignored
  Time between runs of the tasks that copy and expire segments.
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. read-only low internal ignored
  Longest pause before a failed task of remote storage is tried again.
remote.log.manager.task.retry.backoff.ms long 500 1.. read-only low internal ignored
  First pause before a failed task of remote storage is tried again.
remote.log.manager.task.retry.jitter double 0.2 0..0.5 read-only low internal ignored
  Random part of the pauses between attempts of a task of remote storage.
remote.log.manager.thread.pool.size int 2 1.. read-only medium ignored
  Threads that plan the tasks of remote storage.
remote.log.metadata.custom.metadata.max.bytes int 128 0.. read-only low ignored
  Most bytes a storage plug-in may note for each segment.
remote.log.metadata.manager.class.name string org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager some read-only medium ignored
  Java class that remembers which segments are in remote storage.
remote.log.metadata.manager.class.path string null - read-only medium ignored
  Where the class that remembers remote segments is loaded from.
remote.log.metadata.manager.impl.prefix string rlmm.config. some read-only medium ignored
  Prefix of options handed to the class that remembers remote segments.
remote.log.metadata.manager.listener.name string null some read-only medium ignored
  Listener over which remote segments' metadata is read and written.
remote.log.reader.max.pending.tasks int 100 1.. read-only medium ignored
  Reads from remote storage that may wait before more are refused.
remote.log.reader.threads int 10 1.. cluster-wide medium ignored
  Threads that read from remote storage.
remote.log.storage.manager.class.name string null some read-only medium ignored
  Java class that stores segments remotely.
remote.log.storage.manager.class.path string null - read-only medium ignored
  Where the class that stores segments remotely is loaded from.
remote.log.storage.manager.impl.prefix string rsm.config. some read-only medium ignored
  Prefix of options handed to the class that stores segments remotely.
remote.log.storage.system.enable boolean false - read-only medium
  Turn on tiered storage.
"""
