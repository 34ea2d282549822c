"""The cluster itself: topics, settings, nodes, the quorum."""
