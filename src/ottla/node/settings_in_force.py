"""A node's settings as they hold at this moment: its file's, under what was set at run time."""

from ottla.config import Settings
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType, Delta, Image


class SettingsInForce:
    """Called for the settings: whoever asks gets one value, which never changes."""

    def __init__(self, settings: Settings) -> None:
        self._node_id = str(settings.topology.node_id)
        self._settings = settings

    def __call__(self) -> Settings:
        return self._settings

    def settle(self, settings: Settings) -> None:
        """The file says port 0 where the system may choose: now it has."""
        self._settings = settings

    def load(self, image: Image) -> None:
        self._settings = self._settings.with_dynamic(
            image.config(*CLUSTER_DEFAULTS), image.config(ConfigResourceType.BROKER, self._node_id)
        )

    def image_changed(self, image: Image, delta: Delta) -> None:
        if any(kind == ConfigResourceType.BROKER for kind, _ in delta.configs):
            self.load(image)
