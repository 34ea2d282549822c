"""The clients' own test suites, run against a node of ours and, beside it, Apache Kafka's.

`python -m system.interop.suites kgo` runs one suite on both and names what fails on ours alone:
that is a bug of ours. Suites that a package registry hands out with the package (Go's modules) are
fetched; the others need a checkout of the client, named by `--source`.
"""
