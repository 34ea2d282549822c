"""The consumer protocol (KIP-848): the coordinator assigns, each member moves at its own pace.

A group has an *epoch* that grows with every change of members, subscriptions or topics. For an
epoch there is a *target*: who should have which partitions. Each member is led towards it by
heartbeats: first it gives up what it should not have, then it gets what others have given up.
So a partition has one owner at any time, and nobody stops who need not.

`group` is the state, `records` changes it, `draft` lets a decision see what it has written,
`assignors` make targets, `reconciling` leads a member, `heartbeats` and `leaving` are the
requests, `topics` and `regex` say what is subscribed to. `classic_members` and `migration` let
members of both protocols live in one group.
"""
