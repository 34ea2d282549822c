"""What can be configured, and what is: the option table, files read, values resolved.

No socket, no clock and no directory is touched here, except the file that is read.
"""

from ottla.config.options import (
    BROKER_OPTIONS,
    CLIENT_METRICS_OPTIONS,
    GROUP_OPTIONS,
    TOPIC_OPTIONS,
    Option,
)
from ottla.config.settings import ConfigSource, DescribedConfig, Settings, Synonym

__all__ = [
    "BROKER_OPTIONS",
    "CLIENT_METRICS_OPTIONS",
    "GROUP_OPTIONS",
    "TOPIC_OPTIONS",
    "ConfigSource",
    "DescribedConfig",
    "Option",
    "Settings",
    "Synonym",
]
