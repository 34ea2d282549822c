"""Options of a broker or controller: listeners, connections, requests and the threads that served them in Java."""

# ruff: noqa: E501
NETWORK = """
advertised.listeners list null - read-only high
  Addresses told to clients and other brokers; without it, those of listeners.
connections.max.idle.ms long 600000 - read-only medium
  Close a connection on which nothing happened for so long.
delete.records.purgatory.purge.interval.requests int 1 - read-only medium ignored
  Finished waits of DeleteRecords kept before they are swept.
fetch.max.bytes int 57671680 1024.. read-only medium
  Most bytes one fetch response holds, whatever the client asked for.
fetch.purgatory.purge.interval.requests int 1000 - read-only medium ignored
  Finished waits of Fetch kept before they are swept.
inter.broker.listener.name string null - read-only medium
  The listener on which brokers reach each other.
listener.security.protocol.map string SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - per-broker low
  Which protocol each listener speaks.
listeners list PLAINTEXT://:9092 - per-broker high
  Addresses to listen on as NAME://HOST:PORT; an empty host means all interfaces.
max.connection.creation.rate int 2147483647 0.. cluster-wide medium
  New connections a second.
max.connections int 2147483647 0.. cluster-wide medium
  Most connections a broker or a listener accepts.
max.connections.per.ip int 2147483647 0.. cluster-wide medium
  Most connections from one address.
max.connections.per.ip.overrides string "" limits cluster-wide medium
  Limits for single addresses as HOST:COUNT.
max.incremental.fetch.session.cache.slots int 1000 0.. read-only medium
  Fetch sessions a broker remembers.
max.request.partition.size.limit int 2000 1.. read-only medium
  Most partitions in one answer of DescribeTopicPartitions.
num.io.threads int 8 1.. cluster-wide high ignored gradual
  Threads that work on requests.
num.network.threads int 3 1.. cluster-wide high ignored gradual
  Threads that read requests from and write responses to the network.
producer.purgatory.purge.interval.requests int 1000 - read-only medium ignored
  Finished waits of Produce kept before they are swept.
queued.max.request.bytes long -1 - read-only medium
  Bytes of requests read but not yet worked on; -1 means a quarter of the memory.
queued.max.requests int 500 1.. read-only high ignored
  Requests read but not yet worked on before the network waits.
request.timeout.ms int 30000 - read-only high ignored
  How long a request of the broker's own clients may take.
socket.connection.setup.timeout.max.ms long 30000 - read-only medium ignored
  Longest wait for a connection of the broker's own clients.
socket.connection.setup.timeout.ms long 10000 - read-only medium ignored
  First wait for a connection of the broker's own clients.
socket.listen.backlog.size int 50 1.. read-only medium ignored
  Connections that may wait to be accepted.
socket.receive.buffer.bytes int 102400 - read-only high ignored
  Receive buffer of a socket; -1 leaves it to the system.
socket.request.max.bytes int 104857600 1.. read-only high
  Largest request a socket takes.
socket.send.buffer.bytes int 102400 - read-only high ignored
  Send buffer of a socket; -1 leaves it to the system.
"""
