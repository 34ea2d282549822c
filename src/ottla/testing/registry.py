"""A schema registry in a process of its own: `with ottla.Registry() as registry: …`."""

from ottla.testing.server import Settings
from ottla.testing.service import Service


class Registry(Service):
    """One registry. `bootstrap` is the cluster that keeps its topic, of Ottla or Apache Kafka;
    `settings` are options in Confluent's names. The port stays the same over restarts."""

    kind = "registry"
    ready = b"Schema registry at "

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        settings: Settings | None = None,
        start_within_s: float = 30.0,
        stop_within_s: float = 10.0,
    ) -> None:
        super().__init__(bootstrap, settings, start_within_s, stop_within_s)
