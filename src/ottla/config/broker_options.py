"""Options of a broker or controller, as `server.properties` names them.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
BROKER = """
add.partitions.to.txn.retry.backoff.max.ms int 100 0.. read-only high
  -
add.partitions.to.txn.retry.backoff.ms int 20 1.. read-only high
  -
advertised.listeners list null - read-only high
  -
alter.config.policy.class.name class null - read-only low
  -
alter.log.dirs.replication.quota.window.num int 11 1.. read-only low
  -
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. read-only low
  -
authorizer.class.name string "" - read-only low
  -
auto.create.topics.enable boolean true - read-only high
  -
auto.leader.rebalance.enable boolean true - read-only high
  -
background.threads int 10 1.. cluster-wide high
  -
broker.heartbeat.interval.ms int 2000 - read-only medium
  -
broker.id int -1 - read-only high
  -
broker.rack string null - read-only medium
  -
broker.session.timeout.ms int 9000 - read-only medium
  -
client.quota.callback.class class null - read-only low
  -
compression.gzip.level int -1 1..9|-1 cluster-wide medium
  -
compression.lz4.level int 9 1..17 cluster-wide medium
  -
compression.type string producer uncompressed|zstd|lz4|snappy|gzip|producer cluster-wide high
  -
compression.zstd.level int 3 -131072..22 cluster-wide medium
  -
config.providers list "" - cluster-wide low
  -
connection.failed.authentication.delay.ms int 100 0.. read-only low
  -
connections.max.idle.ms long 600000 - read-only medium
  -
connections.max.reauth.ms long 0 - read-only medium
  -
controlled.shutdown.enable boolean true - read-only medium
  -
controller.listener.names list required - read-only high
  -
controller.performance.always.log.threshold.ms long 2000 0.. read-only medium internal
  -
controller.performance.sample.period.ms long 60000 100.. read-only medium internal
  -
controller.quorum.append.linger.ms int 25 0.. read-only medium
  -
controller.quorum.auto.join.enable boolean false - read-only low
  -
controller.quorum.bootstrap.servers list "" some read-only high
  -
controller.quorum.election.backoff.max.ms int 1000 0.. read-only high
  -
controller.quorum.election.timeout.ms int 1000 0.. read-only high
  -
controller.quorum.fetch.max.bytes int 1048576 1.. read-only low
  -
controller.quorum.fetch.snapshot.max.bytes int 1048576 1.. read-only low
  -
controller.quorum.fetch.timeout.ms int 2000 0.. read-only high
  -
controller.quorum.request.timeout.ms int 2000 0.. read-only medium
  -
controller.quorum.retry.backoff.ms int 20 0.. read-only low
  -
controller.quorum.voters list "" some read-only high
  -
controller.quota.window.num int 11 1.. read-only low
  -
controller.quota.window.size.seconds int 1 1.. read-only low
  -
controller.socket.timeout.ms int 30000 - read-only medium
  -
cordoned.log.dirs list "" - per-broker medium
  -
create.topic.policy.class.name class null - read-only low
  -
default.replication.factor int 1 - read-only medium
  -
delegation.token.expiry.check.interval.ms long 3600000 1.. read-only low
  -
delegation.token.expiry.time.ms long 86400000 1.. read-only medium
  -
delegation.token.max.lifetime.ms long 604800000 1.. read-only medium
  -
delegation.token.secret.key password null - read-only medium
  -
delete.records.purgatory.purge.interval.requests int 1 - read-only medium
  -
delete.topic.enable boolean true - read-only high
  -
early.start.listeners list null - read-only high
  -
fetch.max.bytes int 57671680 1024.. read-only medium
  -
fetch.purgatory.purge.interval.requests int 1000 - read-only medium
  -
follower.fetch.last.tiered.offset.enable boolean false - cluster-wide medium
  -
follower.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  -
group.consumer.assignment.interval.ms int 1000 0.. cluster-wide medium
  -
group.consumer.assignors list uniform,range - read-only medium
  -
group.consumer.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.consumer.max.assignment.interval.ms int 15000 0.. read-only medium
  -
group.consumer.max.heartbeat.interval.ms int 15000 1.. read-only medium
  -
group.consumer.max.session.timeout.ms int 60000 1.. read-only medium
  -
group.consumer.max.size int 2147483647 1.. read-only medium
  -
group.consumer.migration.policy string bidirectional ~DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL read-only medium
  -
group.consumer.min.assignment.interval.ms int 0 0.. read-only medium
  -
group.consumer.min.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.consumer.min.session.timeout.ms int 45000 1.. read-only medium
  -
group.consumer.regex.refresh.interval.ms int 600000 10000.. read-only medium internal
  -
group.consumer.session.timeout.ms int 45000 1.. read-only medium
  -
group.coordinator.append.linger.ms int -1 -1.. read-only medium
  -
group.coordinator.background.threads int 2 1.. read-only high
  -
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide medium
  -
group.coordinator.rebalance.protocols list classic,consumer,streams consumer|classic|share|streams read-only medium
  -
group.coordinator.threads int 4 1.. read-only high
  -
group.initial.rebalance.delay.ms int 3000 - read-only medium
  -
group.max.session.timeout.ms int 1800000 - read-only medium
  -
group.max.size int 2147483647 1.. read-only medium
  -
group.min.session.timeout.ms int 6000 - read-only medium
  -
group.share.assignment.interval.ms int 1000 0.. cluster-wide medium
  -
group.share.assignors list simple - read-only medium
  -
group.share.delivery.count.limit int 5 2..10 read-only medium
  -
group.share.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.share.initialize.retry.interval.ms int 30000 1.. read-only low internal
  -
group.share.max.assignment.interval.ms int 15000 0.. read-only medium
  -
group.share.max.delivery.count.limit int 10 5..25 read-only medium
  -
group.share.max.heartbeat.interval.ms int 15000 1.. read-only medium
  -
group.share.max.partition.max.record.locks int 4000 2000..10000 read-only medium
  -
group.share.max.record.lock.duration.ms int 60000 30000..3600000 read-only medium
  -
group.share.max.session.timeout.ms int 60000 1.. read-only medium
  -
group.share.max.share.sessions int 2000 1.. read-only medium
  -
group.share.max.size int 200 1..1000 read-only medium
  -
group.share.min.assignment.interval.ms int 0 0.. read-only medium
  -
group.share.min.delivery.count.limit int 2 2..5 read-only medium
  -
group.share.min.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.share.min.partition.max.record.locks int 100 100..2000 read-only medium
  -
group.share.min.record.lock.duration.ms int 15000 1000..30000 read-only medium
  -
group.share.min.session.timeout.ms int 45000 1.. read-only medium
  -
group.share.partition.max.record.locks int 2000 100..10000 read-only medium
  -
group.share.persister.class.name string org.apache.kafka.server.share.persister.DefaultStatePersister - read-only medium internal
  -
group.share.record.lock.duration.ms int 30000 1000..3600000 read-only medium
  -
group.share.session.timeout.ms int 45000 1.. read-only medium
  -
group.streams.assignment.interval.ms int 1000 0.. cluster-wide medium
  -
group.streams.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.streams.initial.rebalance.delay.ms int 3000 0.. read-only medium
  -
group.streams.max.assignment.interval.ms int 15000 0.. read-only medium
  -
group.streams.max.heartbeat.interval.ms int 15000 1.. read-only medium
  -
group.streams.max.session.timeout.ms int 60000 1.. read-only medium
  -
group.streams.max.size int 2147483647 1.. read-only medium
  -
group.streams.max.standby.replicas int 2 0.. read-only medium
  -
group.streams.min.assignment.interval.ms int 0 0.. read-only medium
  -
group.streams.min.heartbeat.interval.ms int 5000 1.. read-only medium
  -
group.streams.min.session.timeout.ms int 45000 1.. read-only medium
  -
group.streams.num.standby.replicas int 0 0.. read-only medium
  -
group.streams.session.timeout.ms int 45000 1.. read-only medium
  -
initial.broker.registration.timeout.ms int 60000 - read-only medium
  -
inter.broker.listener.name string null - read-only medium
  -
internal.metadata.delete.delay.millis long 60000 - read-only low internal
  -
internal.metadata.log.segment.bytes int null - read-only low internal
  -
internal.metadata.max.batch.size.in.bytes int 8388608 - read-only low internal
  -
kafka.metrics.polling.interval.secs int 10 1.. read-only low
  -
kafka.metrics.reporters list "" - read-only low
  -
leader.imbalance.check.interval.seconds long 300 1.. read-only high
  -
leader.replication.throttled.rate long 9223372036854775807 0.. cluster-wide medium internal
  -
listener.security.protocol.map string SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - per-broker low
  -
listeners list PLAINTEXT://:9092 - per-broker high
  -
log.cleaner.backoff.ms long 15000 0.. cluster-wide medium
  -
log.cleaner.dedupe.buffer.size long 134217728 - cluster-wide medium
  -
log.cleaner.delete.retention.ms long 86400000 0.. cluster-wide medium
  -
log.cleaner.enable boolean true - read-only medium
  -
log.cleaner.io.buffer.load.factor double 0.9 - cluster-wide medium
  -
log.cleaner.io.buffer.size int 524288 0.. cluster-wide medium
  -
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster-wide medium
  -
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. cluster-wide medium
  -
log.cleaner.min.cleanable.ratio double 0.5 0..1 cluster-wide medium
  -
log.cleaner.min.compaction.lag.ms long 0 0.. cluster-wide medium
  -
log.cleaner.threads int 1 0.. cluster-wide medium
  -
log.cleanup.policy list delete compact|delete cluster-wide medium
  -
log.dir list /tmp/kafka-logs - read-only high
  -
log.dir.failure.timeout.ms long 30000 1.. read-only low
  -
log.dirs list null - read-only high
  -
log.flush.interval.messages long 9223372036854775807 1.. cluster-wide high
  -
log.flush.interval.ms long null - cluster-wide high < log.flush.scheduler.interval.ms
  -
log.flush.offset.checkpoint.interval.ms int 60000 0.. read-only high
  -
log.flush.scheduler.interval.ms long 9223372036854775807 - read-only high
  -
log.flush.start.offset.checkpoint.interval.ms int 60000 0.. read-only high
  -
log.index.interval.bytes int 4096 0.. cluster-wide medium
  -
log.index.size.max.bytes int 10485760 4.. cluster-wide medium
  -
log.initial.task.delay.ms long 30000 0.. read-only low internal
  -
log.local.retention.bytes long -2 -2.. cluster-wide medium
  -
log.local.retention.ms long -2 -2.. cluster-wide medium
  -
log.message.timestamp.after.max.ms long 3600000 0.. cluster-wide medium
  -
log.message.timestamp.before.max.ms long 9223372036854775807 0.. cluster-wide medium
  -
log.message.timestamp.type string CreateTime CreateTime|LogAppendTime cluster-wide medium
  -
log.preallocate boolean false - cluster-wide medium
  -
log.retention.bytes long -1 - cluster-wide high
  -
log.retention.check.interval.ms long 300000 1.. read-only medium
  -
log.retention.hours int 168 - read-only high
  -
log.retention.minutes int null - read-only high
  -
log.retention.ms long null - cluster-wide high < log.retention.minutes log.retention.hours
  -
log.roll.hours int 168 1.. read-only high
  -
log.roll.jitter.hours int 0 0.. read-only high
  -
log.roll.jitter.ms long null - cluster-wide high < log.roll.jitter.hours
  -
log.roll.ms long null - cluster-wide high < log.roll.hours
  -
log.segment.bytes int 1073741824 1048576.. cluster-wide high
  -
log.segment.delete.delay.ms long 60000 0.. cluster-wide high
  -
max.connection.creation.rate int 2147483647 0.. cluster-wide medium
  -
max.connections int 2147483647 0.. cluster-wide medium
  -
max.connections.per.ip int 2147483647 0.. cluster-wide medium
  -
max.connections.per.ip.overrides string "" - cluster-wide medium
  -
max.incremental.fetch.session.cache.slots int 1000 0.. read-only medium
  -
max.request.partition.size.limit int 2000 1.. read-only medium
  -
message.max.bytes int 1048588 0.. cluster-wide high
  -
metadata.log.dir string null - read-only high
  -
metadata.log.max.record.bytes.between.snapshots long 20971520 1.. read-only high
  -
metadata.log.max.snapshot.interval.ms long 3600000 0.. read-only high
  -
metadata.log.segment.bytes int 1073741824 8388608.. read-only high
  -
metadata.log.segment.ms long 604800000 - read-only high
  -
metadata.max.idle.interval.ms int 500 0.. read-only low
  -
metadata.max.retention.bytes long 104857600 - read-only high
  -
metadata.max.retention.ms long 604800000 - read-only high
  -
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster-wide low
  -
metrics.num.samples int 2 1.. read-only low
  -
metrics.recording.level string INFO - read-only low
  -
metrics.sample.window.ms long 30000 1.. read-only low
  -
min.insync.replicas int 1 1.. cluster-wide high
  -
node.id int required 0.. read-only high
  -
num.io.threads int 8 1.. cluster-wide high
  -
num.network.threads int 3 1.. cluster-wide high
  -
num.partitions int 1 1.. read-only medium
  -
num.recovery.threads.per.data.dir int 2 1.. cluster-wide high
  -
num.replica.alter.log.dirs.threads int null - read-only high
  -
num.replica.fetchers int 1 1.. cluster-wide high
  -
offset.metadata.max.bytes int 4096 - read-only high
  -
offsets.commit.timeout.ms int 5000 1.. read-only high
  -
offsets.load.buffer.size int 5242880 1.. read-only high
  -
offsets.retention.check.interval.ms long 600000 1.. read-only high
  -
offsets.retention.minutes int 10080 1.. read-only high
  -
offsets.topic.compression.codec int 0 - read-only high
  -
offsets.topic.num.partitions int 50 1.. read-only high
  -
offsets.topic.replication.factor short 3 1.. read-only high
  -
offsets.topic.segment.bytes int 104857600 1.. read-only high
  -
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - per-broker medium
  -
process.roles list required broker|controller read-only high
  -
producer.id.expiration.check.interval.ms int 600000 1.. read-only low internal
  -
producer.id.expiration.ms int 86400000 1.. cluster-wide low
  -
producer.purgatory.purge.interval.requests int 1000 - read-only medium
  -
queued.max.request.bytes long -1 - read-only medium
  -
queued.max.requests int 500 1.. read-only high
  -
quota.window.num int 11 1.. read-only low
  -
quota.window.size.seconds int 1 1.. read-only low
  -
remote.fetch.max.wait.ms int 500 1.. cluster-wide medium
  -
remote.list.offsets.request.timeout.ms long 30000 1.. cluster-wide medium
  -
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster-wide low
  -
remote.log.index.file.cache.ttl.ms long 900000 -1.. read-only low internal
  -
remote.log.manager.copier.thread.pool.size int 10 1.. cluster-wide medium
  -
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster-wide medium
  -
remote.log.manager.copy.quota.window.num int 11 1.. read-only medium
  -
remote.log.manager.copy.quota.window.size.seconds int 1 1.. read-only medium
  -
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster-wide medium
  -
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster-wide medium
  -
remote.log.manager.fetch.quota.window.num int 11 1.. read-only medium
  -
remote.log.manager.fetch.quota.window.size.seconds int 1 1.. read-only medium
  -
remote.log.manager.follower.thread.pool.size int 2 1.. cluster-wide medium
  -
remote.log.manager.task.interval.ms long 30000 1.. read-only low
  -
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. read-only low internal
  -
remote.log.manager.task.retry.backoff.ms long 500 1.. read-only low internal
  -
remote.log.manager.task.retry.jitter double 0.2 0..0.5 read-only low internal
  -
remote.log.manager.thread.pool.size int 2 1.. read-only medium
  -
remote.log.metadata.custom.metadata.max.bytes int 128 0.. read-only low
  -
remote.log.metadata.manager.class.name string org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager some read-only medium
  -
remote.log.metadata.manager.class.path string null - read-only medium
  -
remote.log.metadata.manager.impl.prefix string rlmm.config. some read-only medium
  -
remote.log.metadata.manager.listener.name string null some read-only medium
  -
remote.log.reader.max.pending.tasks int 100 1.. read-only medium
  -
remote.log.reader.threads int 10 1.. cluster-wide medium
  -
remote.log.storage.manager.class.name string null some read-only medium
  -
remote.log.storage.manager.class.path string null - read-only medium
  -
remote.log.storage.manager.impl.prefix string rsm.config. some read-only medium
  -
remote.log.storage.system.enable boolean false - read-only medium
  -
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. cluster-wide medium internal
  -
replica.fetch.backoff.ms int 1000 0.. read-only medium
  -
replica.fetch.max.bytes int 1048576 0.. read-only medium
  -
replica.fetch.min.bytes int 1 - read-only high
  -
replica.fetch.response.max.bytes int 10485760 0.. read-only medium
  -
replica.fetch.wait.max.ms int 500 - read-only high
  -
replica.high.watermark.checkpoint.interval.ms long 5000 - read-only high
  -
replica.lag.time.max.ms long 30000 - read-only high
  -
replica.selector.class string null - read-only medium
  -
replica.socket.receive.buffer.bytes int 65536 - read-only high
  -
replica.socket.timeout.ms int 30000 - read-only high
  -
replication.quota.window.num int 11 1.. read-only low
  -
replication.quota.window.size.seconds int 1 1.. read-only low
  -
request.timeout.ms int 30000 - read-only high
  -
sasl.client.callback.handler.class class null - read-only medium
  -
sasl.enabled.mechanisms list GSSAPI - per-broker medium
  -
sasl.jaas.config password null - per-broker medium
  -
sasl.kerberos.kinit.cmd string /usr/bin/kinit - per-broker medium
  -
sasl.kerberos.min.time.before.relogin long 60000 - per-broker medium
  -
sasl.kerberos.principal.to.local.rules list DEFAULT - per-broker medium
  -
sasl.kerberos.service.name string null - per-broker medium
  -
sasl.kerberos.ticket.renew.jitter double 0.05 - per-broker medium
  -
sasl.kerberos.ticket.renew.window.factor double 0.8 - per-broker medium
  -
sasl.login.callback.handler.class class null - read-only medium
  -
sasl.login.class class null - read-only medium
  -
sasl.login.connect.timeout.ms int null - read-only low
  -
sasl.login.read.timeout.ms int null - read-only low
  -
sasl.login.refresh.buffer.seconds short 300 - per-broker medium
  -
sasl.login.refresh.min.period.seconds short 60 - per-broker medium
  -
sasl.login.refresh.window.factor double 0.8 - per-broker medium
  -
sasl.login.refresh.window.jitter double 0.05 - per-broker medium
  -
sasl.login.retry.backoff.max.ms long 10000 - read-only low
  -
sasl.login.retry.backoff.ms long 100 - read-only low
  -
sasl.mechanism.controller.protocol string GSSAPI - read-only high
  -
sasl.mechanism.inter.broker.protocol string GSSAPI - per-broker medium
  -
sasl.oauthbearer.assertion.algorithm string RS256 ~ES256|RS256 read-only medium
  -
sasl.oauthbearer.assertion.claim.aud string null - read-only medium
  -
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400 read-only low
  -
sasl.oauthbearer.assertion.claim.iss string null - read-only medium
  -
sasl.oauthbearer.assertion.claim.jti.include boolean false - read-only medium
  -
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600 read-only low
  -
sasl.oauthbearer.assertion.claim.sub string null - read-only medium
  -
sasl.oauthbearer.assertion.file string null - read-only medium
  -
sasl.oauthbearer.assertion.private.key.file string null - read-only medium
  -
sasl.oauthbearer.assertion.private.key.passphrase password null - read-only medium
  -
sasl.oauthbearer.assertion.template.file string null - read-only medium
  -
sasl.oauthbearer.client.credentials.client.id string null - read-only medium
  -
sasl.oauthbearer.client.credentials.client.secret password null - read-only medium
  -
sasl.oauthbearer.clock.skew.seconds int 30 - read-only low
  -
sasl.oauthbearer.expected.audience list "" - read-only high
  -
sasl.oauthbearer.expected.issuer string null - read-only high
  -
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 - read-only low
  -
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 - read-only low
  -
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 - read-only low
  -
sasl.oauthbearer.jwks.endpoint.url string null - read-only medium
  -
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever - read-only medium
  -
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator - read-only medium
  -
sasl.oauthbearer.scope string null - read-only medium
  -
sasl.oauthbearer.scope.claim.name string scope - read-only low
  -
sasl.oauthbearer.sub.claim.name string sub - read-only low
  -
sasl.oauthbearer.token.endpoint.url string null - read-only medium
  -
sasl.server.callback.handler.class class null - read-only medium
  -
sasl.server.max.receive.size int 524288 - read-only medium
  -
security.inter.broker.protocol string PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL read-only medium
  -
security.providers string null - read-only low
  -
server.max.startup.time.ms long 9223372036854775807 0.. read-only medium internal
  -
share.coordinator.append.linger.ms int -1 -1.. read-only medium
  -
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide medium
  -
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. read-only low internal
  -
share.coordinator.load.buffer.size int 5242880 1.. read-only high
  -
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500 read-only medium
  -
share.coordinator.state.topic.compression.codec int 0 - read-only high
  -
share.coordinator.state.topic.min.isr short 2 1.. read-only high
  -
share.coordinator.state.topic.num.partitions int 50 1.. read-only high
  -
share.coordinator.state.topic.prune.interval.ms int 300000 1.. read-only low internal
  -
share.coordinator.state.topic.replication.factor short 3 1.. read-only high
  -
share.coordinator.state.topic.segment.bytes int 104857600 1.. read-only high
  -
share.coordinator.threads int 1 1.. read-only medium
  -
share.coordinator.write.timeout.ms int 5000 1.. read-only high
  -
share.fetch.purgatory.purge.interval.requests int 1000 - read-only medium
  -
socket.connection.setup.timeout.max.ms long 30000 - read-only medium
  -
socket.connection.setup.timeout.ms long 10000 - read-only medium
  -
socket.listen.backlog.size int 50 1.. read-only medium
  -
socket.receive.buffer.bytes int 102400 - read-only high
  -
socket.request.max.bytes int 104857600 1.. read-only high
  -
socket.send.buffer.bytes int 102400 - read-only high
  -
ssl.allow.dn.changes boolean false - read-only low
  -
ssl.allow.san.changes boolean false - read-only low
  -
ssl.cipher.suites list "" - per-broker medium
  -
ssl.client.auth string none required|requested|none per-broker medium
  -
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - per-broker medium
  -
ssl.endpoint.identification.algorithm string https - per-broker low
  -
ssl.engine.factory.class class null - per-broker low
  -
ssl.key.password password null - per-broker medium
  -
ssl.keymanager.algorithm string SunX509 - per-broker medium
  -
ssl.keystore.certificate.chain password null - per-broker medium
  -
ssl.keystore.key password null - per-broker medium
  -
ssl.keystore.location string null - per-broker medium
  -
ssl.keystore.password password null - per-broker medium
  -
ssl.keystore.type string JKS - per-broker medium
  -
ssl.principal.mapping.rules string DEFAULT - read-only low
  -
ssl.protocol string TLSv1.3 - per-broker medium
  -
ssl.provider string null - per-broker medium
  -
ssl.secure.random.implementation string null - per-broker low
  -
ssl.trustmanager.algorithm string PKIX - per-broker medium
  -
ssl.truststore.certificates password null - per-broker medium
  -
ssl.truststore.location string null - per-broker medium
  -
ssl.truststore.password password null - per-broker medium
  -
ssl.truststore.type string JKS - per-broker medium
  -
telemetry.max.bytes int 1048576 1.. read-only low
  -
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1.. read-only low
  -
transaction.max.timeout.ms int 900000 1.. read-only high
  -
transaction.partition.verification.enable boolean true - cluster-wide low
  -
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1.. read-only low
  -
transaction.state.log.load.buffer.size int 5242880 1.. read-only high
  -
transaction.state.log.min.isr int 2 1.. read-only high
  -
transaction.state.log.num.partitions int 50 1.. read-only high
  -
transaction.state.log.replication.factor short 3 1.. read-only high
  -
transaction.state.log.segment.bytes int 104857600 1.. read-only high
  -
transaction.two.phase.commit.enable boolean false - read-only low
  -
transactional.id.expiration.ms int 604800000 1.. read-only high
  -
unclean.leader.election.enable boolean false - cluster-wide high
  -
unclean.leader.election.interval.ms long 300000 1.. read-only medium internal
  -
unstable.api.versions.enable boolean false - read-only high internal
  -
unstable.feature.versions.enable boolean false - read-only high internal
  -
"""
