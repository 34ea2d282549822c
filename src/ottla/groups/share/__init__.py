"""Share groups (KIP-932): members take records from a queue, and say what became of each.

Three machines, each pure: `group` with `heartbeats` is the membership, kept by the group's
coordinator in `__consumer_offsets`; `in_flight` is one partition's queue on the broker that leads
it; `states` is what outlives that leader, kept by the share coordinator in
`__share_group_state`. `coordinator` puts `states` on shards.
"""
