"""A Fetch: one operation for consumers, one for replicas, over the same reads; sessions; the reply
as buffers; the closest replica."""
