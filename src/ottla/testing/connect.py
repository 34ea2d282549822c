"""A Connect worker in a process of its own: `with ottla.Connect() as connect: … connect.url`."""

from ottla.testing.server import Settings
from ottla.testing.service import Service


class Connect(Service):
    """One worker. `bootstrap` is the cluster that keeps its topics, of Ottla or Apache Kafka;
    `settings` are options in Connect's names. The port stays the same over restarts."""

    kind = "connect"
    ready = b"Connect at "

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        settings: Settings | None = None,
        master: str | None = None,
        start_within_s: float = 60.0,
        stop_within_s: float = 30.0,
    ) -> None:
        super().__init__(bootstrap, settings, start_within_s, stop_within_s)
        self._master = master

    def _arguments(self) -> list[str]:
        return [*super()._arguments(), *(("--master", self._master) if self._master else ())]
