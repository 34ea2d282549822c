"""Secured clusters by one command: their authority, their nodes' files, their clients' files."""
