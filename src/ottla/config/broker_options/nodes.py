"""Options of a broker or controller: a node's place in the cluster, the quorum and the log of metadata."""

# ruff: noqa: E501
NODES = """
broker.heartbeat.interval.ms int 2000 - read-only medium
  Time between a broker's heartbeats to the controller.
broker.id int -1 - read-only high
  The node's number under its old name; node.id is the one to set.
broker.rack string null - read-only medium
  Where the broker stands; replicas of a partition are spread over racks.
broker.session.timeout.ms int 9000 - read-only medium
  A broker that sends no heartbeat for so long is fenced.
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
controller.socket.timeout.ms int 30000 - read-only medium ignored
  How long a request from a broker to the controller may take.
initial.broker.registration.timeout.ms int 60000 - read-only medium ignored
  A broker that cannot register for so long after its start gives up.
internal.metadata.delete.delay.millis long 60000 - read-only low internal ignored
  Wait before files of the metadata log that are no longer needed are removed.
internal.metadata.log.segment.bytes int null - read-only low internal ignored
  Size of a segment of the metadata log, for tests.
internal.metadata.max.batch.size.in.bytes int 8388608 - read-only low internal ignored
  Largest batch written to the metadata log.
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
node.id int required 0.. read-only high
  The node's number, its own in the cluster.
process.roles list required broker|controller read-only high
  What this node is: broker, controller, or both.
server.max.startup.time.ms long 9223372036854775807 0.. read-only medium internal ignored
  A node that is not up after so long gives up.
unstable.api.versions.enable boolean false - read-only high internal ignored
  Offer versions of APIs that are still in development.
unstable.feature.versions.enable boolean false - read-only high internal ignored
  Offer feature levels that are still in development.
"""
