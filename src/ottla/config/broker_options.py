"""Options of a broker or controller, as `server.properties` names them.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance, flags,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
BROKER = """
add.partitions.to.txn.retry.backoff.max.ms int 100 0.. read-only high ignored
  Longest time the broker retries adding a partition to a transaction on the client's behalf.
add.partitions.to.txn.retry.backoff.ms int 20 1.. read-only high ignored
  Pause between the broker's own attempts to add a partition to a transaction.
advertised.listeners list null - read-only high
  Addresses told to clients and other brokers; without it, those of listeners.
alter.config.policy.class.name class null - read-only low
  Class in Python, as module:Class, that may veto a change of configuration.
alter.log.dirs.replication.quota.window.num int 11 1.. read-only low
  Number of samples kept for the quota of moves between log directories.
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of the quota of moves between log directories.
authorizer.class.name string "" - read-only low
  Who decides who may do what: Kafka's StandardAuthorizer, or empty for nobody.
auto.create.topics.enable boolean true - read-only high
  Create a topic when a client first asks for it.
auto.leader.rebalance.enable boolean true - read-only high
  Give leadership back to preferred replicas from time to time.
background.threads int 10 1.. cluster-wide high ignored gradual
  Threads for housekeeping.
broker.heartbeat.interval.ms int 2000 - read-only medium
  Time between a broker's heartbeats to the controller.
broker.id int -1 - read-only high
  The node's number under its old name; node.id is the one to set.
broker.rack string null - read-only medium
  Where the broker stands; replicas of a partition are spread over racks.
broker.session.timeout.ms int 9000 - read-only medium
  A broker that sends no heartbeat for so long is fenced.
client.quota.callback.class class null - read-only low
  Java class that computes client quotas.
compression.gzip.level int -1 1..9|-1 cluster-wide medium
  How hard gzip tries when the broker compresses; -1 is the codec's own default.
compression.lz4.level int 9 1..17 cluster-wide medium ignored
  How hard lz4 tries when the broker compresses.
compression.type string producer uncompressed|zstd|lz4|snappy|gzip|producer cluster-wide high
  Codec in which batches are stored; producer keeps them as they come.
compression.zstd.level int 3 -131072..22 cluster-wide medium
  How hard zstd tries when the broker compresses.
config.providers list "" - cluster-wide low
  Names of providers that resolve variables in the file.
confluent.schema.registry.url list "" - read-only medium internal
  The schema registry, or several of one group, that topics with schema validation ask.
connection.failed.authentication.delay.ms int 100 0.. read-only low
  Wait before closing a connection that failed to authenticate.
connections.max.idle.ms long 600000 - read-only medium
  Close a connection on which nothing happened for so long.
connections.max.reauth.ms long 0 - read-only medium per-mechanism
  Age at which an authenticated connection has to authenticate again; 0 means never.
controlled.shutdown.enable boolean true - read-only medium ignored
  Hand over leadership before the broker stops.
controller.listener.names list required - read-only high
  Names of the listeners on which controllers are reached.
controller.performance.always.log.threshold.ms long 2000 0.. read-only medium internal ignored
  A controller event slower than this is always logged.
controller.performance.sample.period.ms long 60000 100.. read-only medium internal ignored
  Period over which the controller's event times are summed up.
controller.quorum.append.linger.ms int 25 0.. read-only medium ignored
  How long the metadata leader gathers records before it writes them.
controller.quorum.auto.join.enable boolean false - read-only low
  A controller that is not a voter asks to become one by itself.
controller.quorum.bootstrap.servers list "" some read-only high
  Controllers to ask first when the set of voters is kept in the metadata log.
controller.quorum.election.backoff.max.ms int 1000 0.. read-only high
  Longest wait of a candidate before it tries another election.
controller.quorum.election.timeout.ms int 1000 0.. read-only high
  Wait for votes before an election counts as failed.
controller.quorum.fetch.max.bytes int 1048576 1.. read-only low ignored
  Bytes a controller asks for in one fetch of the metadata log.
controller.quorum.fetch.snapshot.max.bytes int 1048576 1.. read-only low ignored
  Bytes a controller asks for in one fetch of a metadata snapshot.
controller.quorum.fetch.timeout.ms int 2000 0.. read-only high
  Without a successful fetch for so long, a voter calls an election.
controller.quorum.request.timeout.ms int 2000 0.. read-only medium
  How long a request between controllers may take.
controller.quorum.retry.backoff.ms int 20 0.. read-only low
  Pause before a request between controllers is tried again.
controller.quorum.voters list "" some read-only high
  A fixed set of voters as ID@HOST:PORT.
controller.quota.window.num int 11 1.. read-only low
  Number of samples kept for quotas on changes of topics and partitions.
controller.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of quotas on changes of topics and partitions.
controller.socket.timeout.ms int 30000 - read-only medium ignored
  How long a request from a broker to the controller may take.
cordoned.log.dirs list "" - per-broker medium
  Log directories that get no new partitions; * means all.
create.topic.policy.class.name class null - read-only low
  Class in Python, as module:Class, that may veto the creation of a topic.
default.replication.factor int 1 - read-only medium
  Replicas of a topic that does not say how many it wants.
delegation.token.expiry.check.interval.ms long 3600000 1.. read-only low
  Time between searches for delegation tokens that have expired.
delegation.token.expiry.time.ms long 86400000 1.. read-only medium
  Life of a delegation token between renewals.
delegation.token.max.lifetime.ms long 604800000 1.. read-only medium
  Age beyond which a delegation token cannot be renewed.
delegation.token.secret.key password null - read-only medium
  Secret by which delegation tokens are signed; the same on all brokers.
delete.records.purgatory.purge.interval.requests int 1 - read-only medium ignored
  Finished waits of DeleteRecords kept before they are swept.
delete.topic.enable boolean true - read-only high
  Allow topics to be deleted.
early.start.listeners list null - read-only high
  Listeners that open before the authorizer is ready; by default the controllers'.
fetch.max.bytes int 57671680 1024.. read-only medium
  Most bytes one fetch response holds, whatever the client asked for.
fetch.purgatory.purge.interval.requests int 1000 - read-only medium ignored
  Finished waits of Fetch kept before they are swept.
follower.fetch.last.tiered.offset.enable boolean false - cluster-wide medium ignored
  A new follower starts behind what has been copied to remote storage.
follower.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  Bytes a second at which throttled replicas of this broker may fetch.
group.consumer.assignment.interval.ms int 1000 0.. cluster-wide medium
  Least time between two assignments of a consumer group.
group.consumer.assignors list uniform,range - read-only medium
  Assignors of consumer groups on the broker's side; the first is the default.
group.consumer.heartbeat.interval.ms int 5000 1.. read-only medium
  Time between heartbeats of a consumer group's members.
group.consumer.max.assignment.interval.ms int 15000 0.. read-only medium
  Upper limit of a group's own assignment interval.
group.consumer.max.heartbeat.interval.ms int 15000 1.. read-only medium
  Upper limit of a group's own heartbeat interval.
group.consumer.max.session.timeout.ms int 60000 1.. read-only medium
  Upper limit of a group's own session timeout.
group.consumer.max.size int 2147483647 1.. read-only medium
  Most members one consumer group may have.
group.consumer.migration.policy string bidirectional ~DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL read-only medium
  Whether groups may move between the classic and the consumer protocol while running.
group.consumer.min.assignment.interval.ms int 0 0.. read-only medium
  Lower limit of a group's own assignment interval.
group.consumer.min.heartbeat.interval.ms int 5000 1.. read-only medium
  Lower limit of a group's own heartbeat interval.
group.consumer.min.session.timeout.ms int 45000 1.. read-only medium
  Lower limit of a group's own session timeout.
group.consumer.regex.refresh.interval.ms int 600000 10000.. read-only medium internal ignored
  Time after which a subscription by pattern is matched against all topics again.
group.consumer.session.timeout.ms int 45000 1.. read-only medium
  A member that sends no heartbeat for so long leaves its consumer group.
group.coordinator.append.linger.ms int -1 -1.. read-only medium ignored
  How long the coordinator gathers writes into one batch; -1 adapts to the load.
group.coordinator.background.threads int 2 1.. read-only high ignored
  Threads that compute assignments beside the coordinator's own.
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide medium ignored
  Largest write buffer the group coordinator keeps for reuse.
group.coordinator.rebalance.protocols list classic,consumer,streams consumer|classic|share|streams read-only medium
  Kinds of groups that are served.
group.coordinator.threads int 4 1.. read-only high ignored
  Threads of the group coordinator.
group.initial.rebalance.delay.ms int 3000 - read-only medium
  Wait for more members before a new classic group is balanced for the first time.
group.max.session.timeout.ms int 1800000 - read-only medium
  Longest session timeout a member of a classic group may ask for.
group.max.size int 2147483647 1.. read-only medium
  Most members one classic group may have.
group.min.session.timeout.ms int 6000 - read-only medium
  Shortest session timeout a member of a classic group may ask for.
group.share.assignment.interval.ms int 1000 0.. cluster-wide medium
  Least time between two assignments of a share group.
group.share.assignors list simple - read-only medium ignored
  Assignors of share groups.
group.share.delivery.count.limit int 5 2..10 read-only medium
  How often a record is handed out before it counts as undeliverable.
group.share.heartbeat.interval.ms int 5000 1.. read-only medium
  Time between heartbeats of a share group's members.
group.share.initialize.retry.interval.ms int 30000 1.. read-only low internal ignored
  Pause before the state of a share partition is initialized again.
group.share.max.assignment.interval.ms int 15000 0.. read-only medium
  Upper limit of a share group's own assignment interval.
group.share.max.delivery.count.limit int 10 5..25 read-only medium
  Upper limit of a share group's own delivery count.
group.share.max.heartbeat.interval.ms int 15000 1.. read-only medium
  Upper limit of a share group's own heartbeat interval.
group.share.max.partition.max.record.locks int 4000 2000..10000 read-only medium
  Upper limit of a share group's own number of record locks.
group.share.max.record.lock.duration.ms int 60000 30000..3600000 read-only medium
  Upper limit of a share group's own lock time.
group.share.max.session.timeout.ms int 60000 1.. read-only medium
  Upper limit of a share group's own session timeout.
group.share.max.share.sessions int 2000 1.. read-only medium
  Most share sessions a broker keeps.
group.share.max.size int 200 1..1000 read-only medium
  Most members one share group may have.
group.share.min.assignment.interval.ms int 0 0.. read-only medium
  Lower limit of a share group's own assignment interval.
group.share.min.delivery.count.limit int 2 2..5 read-only medium
  Lower limit of a share group's own delivery count.
group.share.min.heartbeat.interval.ms int 5000 1.. read-only medium
  Lower limit of a share group's own heartbeat interval.
group.share.min.partition.max.record.locks int 100 100..2000 read-only medium
  Lower limit of a share group's own number of record locks.
group.share.min.record.lock.duration.ms int 15000 1000..30000 read-only medium
  Lower limit of a share group's own lock time.
group.share.min.session.timeout.ms int 45000 1.. read-only medium
  Lower limit of a share group's own session timeout.
group.share.partition.max.record.locks int 2000 100..10000 read-only medium
  Records of a share partition that may be out with consumers at once.
group.share.persister.class.name string org.apache.kafka.server.share.persister.DefaultStatePersister - read-only medium internal ignored
  Java class that stores the state of share groups.
group.share.record.lock.duration.ms int 30000 1000..3600000 read-only medium
  How long a record handed to a share consumer is its own.
group.share.session.timeout.ms int 45000 1.. read-only medium
  A member that sends no heartbeat for so long leaves its share group.
group.streams.assignment.interval.ms int 1000 0.. cluster-wide medium
  Least time between two assignments of a streams group.
group.streams.heartbeat.interval.ms int 5000 1.. read-only medium
  Time between heartbeats of a streams group's members.
group.streams.initial.rebalance.delay.ms int 3000 0.. read-only medium
  Wait for more members before a new streams group gets its first tasks.
group.streams.max.assignment.interval.ms int 15000 0.. read-only medium
  Upper limit of a streams group's own assignment interval.
group.streams.max.heartbeat.interval.ms int 15000 1.. read-only medium
  Upper limit of a streams group's own heartbeat interval.
group.streams.max.session.timeout.ms int 60000 1.. read-only medium
  Upper limit of a streams group's own session timeout.
group.streams.max.size int 2147483647 1.. read-only medium
  Most members one streams group may have.
group.streams.max.standby.replicas int 2 0.. read-only medium
  Upper limit of a streams group's own number of standby replicas.
group.streams.min.assignment.interval.ms int 0 0.. read-only medium
  Lower limit of a streams group's own assignment interval.
group.streams.min.heartbeat.interval.ms int 5000 1.. read-only medium
  Lower limit of a streams group's own heartbeat interval.
group.streams.min.session.timeout.ms int 45000 1.. read-only medium
  Lower limit of a streams group's own session timeout.
group.streams.num.standby.replicas int 0 0.. read-only medium
  Standby copies of each stateful task of a streams group.
group.streams.session.timeout.ms int 45000 1.. read-only medium
  A member that sends no heartbeat for so long leaves its streams group.
initial.broker.registration.timeout.ms int 60000 - read-only medium ignored
  A broker that cannot register for so long after its start gives up.
inter.broker.listener.name string null - read-only medium
  The listener on which brokers reach each other.
internal.metadata.delete.delay.millis long 60000 - read-only low internal ignored
  Wait before files of the metadata log that are no longer needed are removed.
internal.metadata.log.segment.bytes int null - read-only low internal ignored
  Size of a segment of the metadata log, for tests.
internal.metadata.max.batch.size.in.bytes int 8388608 - read-only low internal ignored
  Largest batch written to the metadata log.
kafka.metrics.polling.interval.secs int 10 1.. read-only low ignored
  Period of the old metrics reporters.
kafka.metrics.reporters list "" - read-only low ignored
  Old metrics reporters by Java class.
leader.imbalance.check.interval.seconds long 300 1.. read-only high
  Time between searches for leaders that are not the preferred ones.
leader.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  Bytes a second at which this broker may serve throttled replicas.
listener.security.protocol.map string SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - per-broker low
  Which protocol each listener speaks.
listeners list PLAINTEXT://:9092 - per-broker high
  Addresses to listen on as NAME://HOST:PORT; an empty host means all interfaces.
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
log.local.retention.bytes long -2 -2.. cluster-wide medium ignored
  Bytes kept on local disk when a topic is tiered; -2 means as log.retention.bytes.
log.local.retention.ms long -2 -2.. cluster-wide medium ignored
  Time kept on local disk when a topic is tiered; -2 means as log.retention.ms.
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
max.connection.creation.rate int 2147483647 0.. cluster-wide medium
  New connections a second.
max.connections int 2147483647 0.. cluster-wide medium
  Most connections a broker or a listener accepts.
max.connections.per.ip int 2147483647 0.. cluster-wide medium
  Most connections from one address.
max.connections.per.ip.overrides string "" limits cluster-wide medium
  Limits for single addresses as HOST:COUNT.
max.incremental.fetch.session.cache.slots int 1000 0.. read-only medium
  Fetch sessions a broker remembers.
max.request.partition.size.limit int 2000 1.. read-only medium
  Most partitions in one answer of DescribeTopicPartitions.
message.max.bytes int 1048588 0.. cluster-wide high
  Largest batch of records, after compression.
metadata.log.dir string null - read-only high
  Where the metadata log lives; without it, in the first data directory.
metadata.log.max.record.bytes.between.snapshots long 20971520 1.. read-only high
  Bytes of metadata records after which a snapshot is taken.
metadata.log.max.snapshot.interval.ms long 3600000 0.. read-only high
  Time after which a snapshot of the metadata is taken; 0 means never by time.
metadata.log.segment.bytes int 1073741824 8388608.. read-only high
  Size at which a new segment of the metadata log begins.
metadata.log.segment.ms long 604800000 - read-only high ignored
  Age at which a new segment of the metadata log begins.
metadata.max.idle.interval.ms int 500 0.. read-only low
  Time between records that show that the metadata leader is alive; 0 means none.
metadata.max.retention.bytes long 104857600 - read-only high ignored
  Size beyond which old metadata segments and snapshots are deleted.
metadata.max.retention.ms long 604800000 - read-only high ignored
  Age beyond which old metadata segments and snapshots are deleted.
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster-wide low ignored
  Metrics reporters by Java class.
metrics.num.samples int 2 1.. read-only low ignored
  Samples of which a metric is made.
metrics.recording.level string INFO - read-only low ignored
  How much detail is measured.
metrics.sample.window.ms long 30000 1.. read-only low ignored
  Length of one sample of a metric.
min.insync.replicas int 1 1.. cluster-wide high
  Replicas that must have a record before acks=all is answered.
node.id int required 0.. read-only high
  The node's number, its own in the cluster.
num.io.threads int 8 1.. cluster-wide high ignored gradual
  Threads that work on requests.
num.network.threads int 3 1.. cluster-wide high ignored gradual
  Threads that read requests from and write responses to the network.
num.partitions int 1 1.. read-only medium
  Partitions of a topic that does not say how many it wants.
num.recovery.threads.per.data.dir int 2 1.. cluster-wide high ignored gradual
  Threads that load and recover logs, for each data directory.
num.replica.alter.log.dirs.threads int null - read-only high ignored
  Threads that move replicas between data directories.
num.replica.fetchers int 1 1.. cluster-wide high ignored gradual
  Fetchers for each broker from which replicas are copied.
offset.metadata.max.bytes int 4096 - read-only high
  Longest note a consumer may attach to a committed offset.
offsets.commit.timeout.ms int 5000 1.. read-only high
  A commit fails when its replicas have not confirmed it within this time.
offsets.load.buffer.size int 5242880 1.. read-only high ignored
  Bytes read at once when committed offsets are loaded.
offsets.retention.check.interval.ms long 600000 1.. read-only high
  Time between searches for committed offsets that are too old.
offsets.retention.minutes int 10080 1.. read-only high
  How long the offsets of an empty group are kept.
offsets.topic.compression.codec int 0 - read-only high ignored
  Codec of the offsets topic by number; 0 means none.
offsets.topic.num.partitions int 50 1.. read-only high
  Partitions of the offsets topic; must not change once it exists.
offsets.topic.replication.factor short 3 1.. read-only high
  Replicas of the offsets topic.
offsets.topic.segment.bytes int 104857600 1.. read-only high
  Size at which a new segment of the offsets topic begins.
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - per-broker medium
  Java class that tells who a connection belongs to.
process.roles list required broker|controller read-only high
  What this node is: broker, controller, or both.
producer.id.expiration.check.interval.ms int 600000 1.. read-only low internal
  Time between searches for idempotent producers that have gone.
producer.id.expiration.ms int 86400000 1.. cluster-wide low
  How long a partition remembers an idempotent producer that is silent.
producer.purgatory.purge.interval.requests int 1000 - read-only medium ignored
  Finished waits of Produce kept before they are swept.
queued.max.request.bytes long -1 - read-only medium
  Bytes of requests read but not yet worked on; -1 means a quarter of the memory.
queued.max.requests int 500 1.. read-only high ignored
  Requests read but not yet worked on before the network waits.
quota.window.num int 11 1.. read-only low
  Number of samples kept for client quotas.
quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of client quotas.
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
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. cluster-wide medium internal
  Speed limit of moves between log directories of this broker.
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
replication.quota.window.num int 11 1.. read-only low
  Number of samples kept for replication quotas.
replication.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of replication quotas.
request.timeout.ms int 30000 - read-only high ignored
  How long a request of the broker's own clients may take.
sasl.client.callback.handler.class class null - read-only medium
  Java class that answers SASL's questions on the client's side.
sasl.enabled.mechanisms list GSSAPI - per-broker medium
  SASL mechanisms clients may use.
sasl.jaas.config password null - per-broker medium per-mechanism
  Login context of a SASL listener.
sasl.kerberos.kinit.cmd string /usr/bin/kinit - per-broker medium ignored
  Path of Kerberos' kinit.
sasl.kerberos.min.time.before.relogin long 60000 - per-broker medium ignored
  Least time between two Kerberos logins.
sasl.kerberos.principal.to.local.rules list DEFAULT - per-broker medium
  Rules that turn Kerberos principals into short names.
sasl.kerberos.service.name string null - per-broker medium
  Kerberos name of the brokers.
sasl.kerberos.ticket.renew.jitter double 0.05 - per-broker medium ignored
  Random part of the time at which a Kerberos ticket is renewed.
sasl.kerberos.ticket.renew.window.factor double 0.8 - per-broker medium ignored
  Share of a Kerberos ticket's life after which it is renewed.
sasl.login.callback.handler.class class null - read-only medium per-mechanism
  Java class that answers SASL's questions at login.
sasl.login.class class null - read-only medium per-mechanism
  Java class that logs in.
sasl.login.connect.timeout.ms int null - read-only low ignored
  How long connecting to the identity provider may take.
sasl.login.read.timeout.ms int null - read-only low ignored
  How long the identity provider may take to answer.
sasl.login.refresh.buffer.seconds short 300 - per-broker medium ignored
  Time kept in reserve before a credential expires.
sasl.login.refresh.min.period.seconds short 60 - per-broker medium ignored
  Least time between two refreshes of a credential.
sasl.login.refresh.window.factor double 0.8 - per-broker medium ignored
  Share of a credential's life after which it is refreshed.
sasl.login.refresh.window.jitter double 0.05 - per-broker medium ignored
  Random part of the time at which a credential is refreshed.
sasl.login.retry.backoff.max.ms long 10000 - read-only low ignored
  Longest pause between attempts to log in at the identity provider.
sasl.login.retry.backoff.ms long 100 - read-only low ignored
  First pause between attempts to log in at the identity provider.
sasl.mechanism.controller.protocol string GSSAPI - read-only high
  SASL mechanism towards controllers.
sasl.mechanism.inter.broker.protocol string GSSAPI - per-broker medium
  SASL mechanism between brokers.
sasl.oauthbearer.assertion.algorithm string RS256 ~ES256|RS256 read-only medium ignored
  Algorithm by which client assertions are signed.
sasl.oauthbearer.assertion.claim.aud string null - read-only medium ignored
  Audience named in client assertions.
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400 read-only low ignored
  Life of a client assertion.
sasl.oauthbearer.assertion.claim.iss string null - read-only medium ignored
  Issuer named in client assertions.
sasl.oauthbearer.assertion.claim.jti.include boolean false - read-only medium ignored
  Give each client assertion an id of its own.
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600 read-only low ignored
  How long before its making a client assertion is already valid.
sasl.oauthbearer.assertion.claim.sub string null - read-only medium ignored
  Subject named in client assertions.
sasl.oauthbearer.assertion.file string null - read-only medium ignored
  File with a ready-made client assertion.
sasl.oauthbearer.assertion.private.key.file string null - read-only medium ignored
  File with the key that signs client assertions.
sasl.oauthbearer.assertion.private.key.passphrase password null - read-only medium ignored
  Passphrase of the key that signs client assertions.
sasl.oauthbearer.assertion.template.file string null - read-only medium ignored
  File with claims that every client assertion carries.
sasl.oauthbearer.client.credentials.client.id string null - read-only medium
  Client id for the OAuth grant of client credentials.
sasl.oauthbearer.client.credentials.client.secret password null - read-only medium
  Client secret for the OAuth grant of client credentials.
sasl.oauthbearer.clock.skew.seconds int 30 - read-only low
  How far the identity provider's clock may differ from the broker's.
sasl.oauthbearer.expected.audience list "" - read-only high
  Audiences a token may be made out to.
sasl.oauthbearer.expected.issuer string null - read-only high
  Issuer a token must come from.
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 - read-only low
  Time between refreshes of the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 - read-only low
  Longest pause between attempts to fetch the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 - read-only low
  First pause between attempts to fetch the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.url string null - read-only medium
  Where the identity provider's keys are.
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever - read-only medium
  Java class that fetches tokens.
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator - read-only medium
  Java class that checks tokens.
sasl.oauthbearer.scope string null - read-only medium
  Scope asked for at the identity provider.
sasl.oauthbearer.scope.claim.name string scope - read-only low
  Claim of a token that holds its scope.
sasl.oauthbearer.sub.claim.name string sub - read-only low
  Claim of a token that holds its subject.
sasl.oauthbearer.token.endpoint.url string null - read-only medium
  Where the identity provider hands out tokens.
sasl.server.callback.handler.class class null - read-only medium per-mechanism
  Java class that answers SASL's questions on the broker's side.
sasl.server.max.receive.size int 524288 - read-only medium
  Largest message during authentication.
security.inter.broker.protocol string PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL read-only medium
  Protocol between brokers, where no listener is named for it.
security.providers string null - read-only low
  Java security providers.
server.max.startup.time.ms long 9223372036854775807 0.. read-only medium internal ignored
  A node that is not up after so long gives up.
share.coordinator.append.linger.ms int -1 -1.. read-only medium ignored
  How long the share coordinator gathers writes into one batch; -1 adapts to the load.
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide medium ignored
  Largest write buffer the share coordinator keeps for reuse.
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. read-only low internal
  Time after which the state of an idle share partition is written anew.
share.coordinator.load.buffer.size int 5242880 1.. read-only high ignored
  Bytes read at once when the state of share groups is loaded.
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500 read-only medium
  Updates of a share partition's state between two snapshots of it.
share.coordinator.state.topic.compression.codec int 0 - read-only high ignored
  Codec of the share state topic by number; 0 means none.
share.coordinator.state.topic.min.isr short 2 1.. read-only high
  Replicas that must have a record of the share state topic.
share.coordinator.state.topic.num.partitions int 50 1.. read-only high
  Partitions of the share state topic; must not change once it exists.
share.coordinator.state.topic.prune.interval.ms int 300000 1.. read-only low internal
  Time between removals of share state that is no longer needed.
share.coordinator.state.topic.replication.factor short 3 1.. read-only high
  Replicas of the share state topic.
share.coordinator.state.topic.segment.bytes int 104857600 1.. read-only high
  Size at which a new segment of the share state topic begins.
share.coordinator.threads int 1 1.. read-only medium ignored
  Threads of the share coordinator.
share.coordinator.write.timeout.ms int 5000 1.. read-only high
  A write of share state fails when it is not confirmed within this time.
share.fetch.purgatory.purge.interval.requests int 1000 - read-only medium ignored
  Finished waits of ShareFetch kept before they are swept.
socket.connection.setup.timeout.max.ms long 30000 - read-only medium ignored
  Longest wait for a connection of the broker's own clients.
socket.connection.setup.timeout.ms long 10000 - read-only medium ignored
  First wait for a connection of the broker's own clients.
socket.listen.backlog.size int 50 1.. read-only medium ignored
  Connections that may wait to be accepted.
socket.receive.buffer.bytes int 102400 - read-only high ignored
  Receive buffer of a socket; -1 leaves it to the system.
socket.request.max.bytes int 104857600 1.. read-only high
  Largest request a socket takes.
socket.send.buffer.bytes int 102400 - read-only high ignored
  Send buffer of a socket; -1 leaves it to the system.
ssl.allow.dn.changes boolean false - read-only low
  Allow another distinguished name when a keystore is replaced at run time.
ssl.allow.san.changes boolean false - read-only low
  Allow other alternative names when a keystore is replaced at run time.
ssl.cipher.suites list "" - per-broker medium
  Cipher suites that may be used; empty means the library's own choice.
ssl.client.auth string none required|requested|none per-broker medium
  Whether clients must, may or need not show a certificate.
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - per-broker medium
  TLS versions that may be used.
ssl.endpoint.identification.algorithm string https - per-broker low
  How a server's name is checked against its certificate; empty turns it off.
ssl.engine.factory.class class null - per-broker low
  Java class that makes TLS engines.
ssl.key.password password null - per-broker medium
  Password of the private key.
ssl.keymanager.algorithm string SunX509 - per-broker medium
  Java's algorithm for key managers.
ssl.keystore.certificate.chain password null - per-broker medium
  Certificate chain in PEM.
ssl.keystore.key password null - per-broker medium
  Private key in PEM.
ssl.keystore.location string null - per-broker medium
  File with the private key and its certificate.
ssl.keystore.password password null - per-broker medium
  Password of the keystore.
ssl.keystore.type string JKS - per-broker medium
  Format of the keystore.
ssl.principal.mapping.rules string DEFAULT - read-only low
  Rules that turn the name in a certificate into a short one.
ssl.protocol string TLSv1.3 - per-broker medium ignored
  TLS version of the context.
ssl.provider string null - per-broker medium
  Java security provider for TLS.
ssl.secure.random.implementation string null - per-broker low
  Java's source of randomness for TLS.
ssl.trustmanager.algorithm string PKIX - per-broker medium
  Java's algorithm for trust managers.
ssl.truststore.certificates password null - per-broker medium
  Trusted certificates in PEM.
ssl.truststore.location string null - per-broker medium
  File with the trusted certificates.
ssl.truststore.password password null - per-broker medium
  Password of the truststore.
ssl.truststore.type string JKS - per-broker medium
  Format of the truststore.
telemetry.max.bytes int 1048576 1.. read-only low ignored
  Largest batch of metrics a client may push.
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1.. read-only low
  Time between searches for transactions that took too long.
transaction.max.timeout.ms int 900000 1.. read-only high
  Longest timeout a transaction may ask for.
transaction.partition.verification.enable boolean true - cluster-wide low ignored
  Ask the coordinator whether a partition belongs to the transaction before writing to it.
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1.. read-only low
  Time between searches for transactional ids nobody uses any more.
transaction.state.log.load.buffer.size int 5242880 1.. read-only high ignored
  Bytes read at once when the state of transactions is loaded.
transaction.state.log.min.isr int 2 1.. read-only high
  Replicas that must have a record of the transaction topic.
transaction.state.log.num.partitions int 50 1.. read-only high
  Partitions of the transaction topic; must not change once it exists.
transaction.state.log.replication.factor short 3 1.. read-only high
  Replicas of the transaction topic.
transaction.state.log.segment.bytes int 104857600 1.. read-only high
  Size at which a new segment of the transaction topic begins.
transaction.two.phase.commit.enable boolean false - read-only low ignored
  Allow transactions whose end an outside coordinator decides.
transactional.id.expiration.ms int 604800000 1.. read-only high
  How long an unused transactional id is remembered.
unclean.leader.election.enable boolean false - cluster-wide high
  Let a replica lead that is not in sync: available again, but records may be lost.
unclean.leader.election.interval.ms long 300000 1.. read-only medium internal
  Time between searches for partitions that need an unclean election.
unstable.api.versions.enable boolean false - read-only high internal ignored
  Offer versions of APIs that are still in development.
unstable.feature.versions.enable boolean false - read-only high internal ignored
  Offer feature levels that are still in development.
"""
