"""The life of an application: found, started, taken through its phases, upgraded, watched, stopped.

One copy at a time; what it runs is written down beside its checkpoints.
"""
