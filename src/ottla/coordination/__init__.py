"""What every coordinator is made of: a state machine whose only memory is one led partition.

A *shard* is one partition of an internal topic (`__consumer_offsets`, `__transaction_state`,
`__share_group_state`) together with the state that its records describe. The contract:

- **decide → append → apply → reply.** A decision is made from the state and the time; it names
  records and a reply and changes nothing durable. Its records are applied at once, so that the
  next decision sees them, appended with those that come together with them as one batch,
  and the reply leaves when the log has committed them.
- **State changes only by applying records**, at run time and while loading alike. What is not in
  records (who waits for an answer, when a session ends) may be lost at any time: a new leader
  starts it afresh.
- **A reply never shows what may still be lost**: also a decision without records, and a refusal,
  is answered only after everything applied before it was committed. A coordinator that is cut off
  from the cluster, but not from its clients, sends them elsewhere instead of refusing them by what
  it knew: they would take that for final.
- **Leadership is the licence.** `load` begins it for one leader epoch, `unload` ends it: waiting
  requests are refused, the state is dropped. Nothing is decided and nothing expires before the
  log has been read to its end.
- If an append fails, the applied state is ahead of the log: it is dropped and loaded again, once
  in a second at most. While too few replicas are in sync for any append, nothing expires.

What lives here knows nothing of groups or transactions: those are machines (`Machine`) in
`groups` and `transactions`.
"""
