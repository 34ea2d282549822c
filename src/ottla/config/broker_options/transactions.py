"""Options of a broker or controller: transactions, their coordinator and the ids of producers."""

TRANSACTIONS = """
add.partitions.to.txn.retry.backoff.max.ms int 100 0.. read-only high ignored
  Longest time the broker retries adding a partition to a transaction on the client's behalf.
add.partitions.to.txn.retry.backoff.ms int 20 1.. read-only high ignored
  Pause between the broker's own attempts to add a partition to a transaction.
producer.id.expiration.check.interval.ms int 600000 1.. read-only low internal
  Time between searches for idempotent producers that have gone.
producer.id.expiration.ms int 86400000 1.. cluster-wide low
  How long a partition remembers an idempotent producer that is silent.
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
"""
