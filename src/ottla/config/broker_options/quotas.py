"""Options of a broker or controller: the windows over which quotas are measured."""

QUOTAS = """
alter.log.dirs.replication.quota.window.num int 11 1.. read-only low
  Number of samples kept for the quota of moves between log directories.
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of the quota of moves between log directories.
client.quota.callback.class class null - read-only low
  Java class that computes client quotas.
controller.quota.window.num int 11 1.. read-only low
  Number of samples kept for quotas on changes of topics and partitions.
controller.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of quotas on changes of topics and partitions.
quota.window.num int 11 1.. read-only low
  Number of samples kept for client quotas.
quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of client quotas.
replication.quota.window.num int 11 1.. read-only low
  Number of samples kept for replication quotas.
replication.quota.window.size.seconds int 1 1.. read-only low
  Length of one sample of replication quotas.
"""
