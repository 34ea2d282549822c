"""What handlers can reach. `node` puts it together; nothing is decided here."""

from ottla.config import Settings


class Broker:
    """The parts of a running node, as its handlers see them."""

    settings: Settings

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.topology = settings.topology
        self.node_id = settings.topology.node_id
