"""Whole nodes and their clients, on hosts that die and networks that are cut."""
