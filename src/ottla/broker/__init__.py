"""The wire side of a node: listeners, connections, dispatch, long polls, a handler per API.

Handlers decide nothing that outlives a request: topics are the controller's, records are
replication's, groups are theirs. They translate between messages and those.
"""
