"""Who somebody is, what that one may do and how much of it: pure machines, and no sockets.

Principals, access rules, SASL of both sides, delegation tokens, TLS contexts and client quotas, as
Apache Kafka 4.3 has them. Connections are `broker.transport`'s, records `metadata`'s.
"""
