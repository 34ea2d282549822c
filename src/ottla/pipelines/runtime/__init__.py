"""Spark on this machine, for whoever needs it: its session, jars, our Java classes, user files.

The lowest room: it knows nothing of applications, plans or queries, so that what will stand beside
pipelines can use it too.
"""
