"""Only who leads the metadata log: machine and store of the quorum, without brokers."""
