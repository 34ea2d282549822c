"""Options of a broker or controller: consumer, classic and streams groups, their coordinator and offsets."""

# ruff: noqa: E501
GROUPS = """
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
"""
