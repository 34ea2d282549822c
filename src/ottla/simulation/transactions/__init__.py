"""Two brokers, transactional producers and readers of committed records."""
