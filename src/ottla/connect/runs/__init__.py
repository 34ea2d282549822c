"""Connectors at work: what is read and written in one Spark job after the other."""
