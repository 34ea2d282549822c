"""Stages as queries of Spark: frames from nodes, records from rows, what runs in Python workers.

How an application lives (its phases, restarts, upgrades) is in `lifecycle`.
"""
