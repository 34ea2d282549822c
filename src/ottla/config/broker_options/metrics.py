"""Options of a broker or controller: metrics and who is told of them."""

METRICS = """
kafka.metrics.polling.interval.secs int 10 1.. read-only low ignored
  Period of the old metrics reporters.
kafka.metrics.reporters list "" - read-only low ignored
  Old metrics reporters by Java class.
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster-wide low ignored
  Metrics reporters by Java class.
metrics.num.samples int 2 1.. read-only low ignored
  Samples of which a metric is made.
metrics.recording.level string INFO - read-only low ignored
  How much detail is measured.
metrics.sample.window.ms long 30000 1.. read-only low ignored
  Length of one sample of a metric.
telemetry.max.bytes int 1048576 1.. read-only low ignored
  Largest batch of metrics a client may push.
"""
