"""Ottla: Apache Kafka's system for people who work in Python."""

from ottla.version import VERSION as __version__

__all__ = ["__version__"]
