"""The metadata quorum: who leads, and a replicated log of opaque records.

What the records mean is `ottla.metadata`'s affair; the quorum reads only its own control records.
"""
