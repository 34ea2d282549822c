"""What the cluster's metadata log says: its records, the image they add up to, and its snapshots.

Nothing here writes or reads files, talks to other nodes or decides anything: the quorum moves the
records, the controller decides on them.
"""
