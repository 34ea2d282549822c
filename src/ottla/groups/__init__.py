"""The group coordinator: who consumes what, and how far they are.

Everything in here is pure but `coordinator`, which puts the machine on shards of
`__consumer_offsets`. `machine` holds the state of one shard; `classic`, `consumer`, `share` and
`streams` are the protocols by which members agree on who reads which partition; `offsets` is what
they committed. Decisions are functions `(groups, now, request, …) -> Decision`; the state they
look at changes by records only, except for what a restart may forget: who waits, and until when.
"""
