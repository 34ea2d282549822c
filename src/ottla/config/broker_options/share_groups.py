"""Options of a broker or controller: share groups, their coordinator and its topic."""

# ruff: noqa: E501
SHARE_GROUPS = """
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
"""
