"""What groups have committed: kept, written, read, deleted, and forgotten in time."""
