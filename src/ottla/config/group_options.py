"""Options of one group (consumer, share, streams), with the broker options behind them.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance, flags,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
GROUP = """
consumer.assignment.interval.ms int 1000 0.. cluster-wide medium < group.consumer.assignment.interval.ms
  Least time between two assignments of this consumer group.
consumer.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.consumer.heartbeat.interval.ms
  Time between heartbeats of this group's members.
consumer.session.timeout.ms int 45000 1.. cluster-wide medium < group.consumer.session.timeout.ms
  A member that sends no heartbeat for so long leaves the group.
share.assignment.interval.ms int 1000 0.. cluster-wide medium < group.share.assignment.interval.ms
  Least time between two assignments of this share group.
share.auto.offset.reset string latest reset cluster-wide medium
  Where the group begins in a partition it has not read: latest, earliest, or by_duration.
share.delivery.count.limit int 5 2.. cluster-wide medium < group.share.delivery.count.limit
  How often a record is handed out before it counts as undeliverable.
share.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.share.heartbeat.interval.ms
  Time between heartbeats of this share group's members.
share.isolation.level string read_uncommitted read_committed|read_uncommitted cluster-wide medium
  Whether the group sees records of transactions that are not committed.
share.partition.max.record.locks int 2000 100.. cluster-wide medium < group.share.partition.max.record.locks
  Records of a partition that may be out with consumers at once.
share.record.lock.duration.ms int 30000 1000.. cluster-wide medium < group.share.record.lock.duration.ms
  How long a record handed to a consumer is its own.
share.renew.acknowledge.enable boolean true - cluster-wide medium
  Allow a consumer to renew its hold on a record.
share.session.timeout.ms int 45000 1.. cluster-wide medium < group.share.session.timeout.ms
  A member that sends no heartbeat for so long leaves the share group.
streams.assignment.interval.ms int 1000 0.. cluster-wide medium < group.streams.assignment.interval.ms
  Least time between two assignments of this streams group.
streams.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.streams.heartbeat.interval.ms
  Time between heartbeats of this streams group's members.
streams.initial.rebalance.delay.ms int 3000 0.. cluster-wide medium < group.streams.initial.rebalance.delay.ms
  Wait for more members before the group gets its first tasks.
streams.num.standby.replicas int 0 0.. cluster-wide medium < group.streams.num.standby.replicas
  Standby copies of each stateful task.
streams.session.timeout.ms int 45000 1.. cluster-wide medium < group.streams.session.timeout.ms
  A member that sends no heartbeat for so long leaves the streams group.
"""
