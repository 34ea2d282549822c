"""Options of one group (consumer, share, streams), with the broker options behind them.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

# ruff: noqa: E501
GROUP = """
consumer.assignment.interval.ms int 1000 0.. cluster-wide medium < group.consumer.assignment.interval.ms
  -
consumer.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.consumer.heartbeat.interval.ms
  -
consumer.session.timeout.ms int 45000 1.. cluster-wide medium < group.consumer.session.timeout.ms
  -
share.assignment.interval.ms int 1000 0.. cluster-wide medium < group.share.assignment.interval.ms
  -
share.auto.offset.reset string latest reset cluster-wide medium
  -
share.delivery.count.limit int 5 2.. cluster-wide medium < group.share.delivery.count.limit
  -
share.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.share.heartbeat.interval.ms
  -
share.isolation.level string read_uncommitted read_committed|read_uncommitted cluster-wide medium
  -
share.partition.max.record.locks int 2000 100.. cluster-wide medium < group.share.partition.max.record.locks
  -
share.record.lock.duration.ms int 30000 1000.. cluster-wide medium < group.share.record.lock.duration.ms
  -
share.renew.acknowledge.enable boolean true - cluster-wide medium
  -
share.session.timeout.ms int 45000 1.. cluster-wide medium < group.share.session.timeout.ms
  -
streams.assignment.interval.ms int 1000 0.. cluster-wide medium < group.streams.assignment.interval.ms
  -
streams.heartbeat.interval.ms int 5000 1.. cluster-wide medium < group.streams.heartbeat.interval.ms
  -
streams.initial.rebalance.delay.ms int 3000 0.. cluster-wide medium < group.streams.initial.rebalance.delay.ms
  -
streams.num.standby.replicas int 0 0.. cluster-wide medium < group.streams.num.standby.replicas
  -
streams.session.timeout.ms int 45000 1.. cluster-wide medium < group.streams.session.timeout.ms
  -
"""
