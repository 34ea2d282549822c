"""A cluster in one process, one thread and virtual time: same seed, same story.

The machines and their files are the real ones; clock, network and disks are hostile stand-ins.
"""
