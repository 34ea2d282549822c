"""Options of a subscription to clients' metrics (KIP-714).

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance, flags;
the next line says what it is for. Kept and told; nobody here asks clients for their metrics.
"""

CLIENT_METRICS = """
interval.ms int 300000 - cluster-wide medium ignored
  Time between two reports of a client, from 100 ms to an hour.
match list "" - cluster-wide medium ignored
  Which clients are asked, as NAME=PATTERN; none means all of them.
metrics list "" - cluster-wide medium ignored
  Prefixes of the names of the metrics that are wanted; * means all.
"""
