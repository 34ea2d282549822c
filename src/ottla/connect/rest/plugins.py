"""`/connector-plugins`: what may be run, and what its configuration may say."""

from collections.abc import Iterator
from typing import Any

from ottla.connect import plugins
from ottla.connect.connector import ConnectError, Plugin
from ottla.connect.rest.bodies import bad_request, failed, not_found, read_config, read_object
from ottla.connect.rest.validating import Validating
from ottla.connect.validation import key_info, plugin_keys
from ottla.serving.errors import RestError
from ottla.serving.routing import Asked, Route

_SUFFIX = "Connector"


class PluginRoutes:
    def __init__(self, validating: Validating) -> None:
        self._validating = validating

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/connector-plugins", self.listed)
        yield Route("GET", "/connector-plugins/{plugin}/config", self.keys)
        yield Route("PUT", "/connector-plugins/{plugin}/config/validate", self.validate)

    async def listed(self, asked: Asked) -> Any:
        kinds = {"sink": 0, "source": 1}
        found = sorted(plugins.served(), key=lambda one: (kinds[one.kind], one.classes[0]))
        return [
            {"class": name, "type": one.kind, "version": one.version}
            for one in found
            for name in one.classes
            if "." in name
        ]

    async def keys(self, asked: Asked) -> Any:
        plugin = _plugin(asked.named["plugin"])
        own = plugins.module_of(plugin).DEFINITIONS
        keys = plugin_keys(plugin.kind, own, version=plugin.version)
        return [key_info(key) for key in keys]

    async def validate(self, asked: Asked) -> Any:
        name = asked.named["plugin"]
        config = read_config(read_object(asked.body))
        included = config.get("connector.class")
        if included is not None and not _is_same(included, name):
            raise bad_request(
                f"Included connector type {included} does not match request type {name}"
            )
        try:
            return (await self._validating.validated(config, trying=True)).body()
        except RestError as error:
            java = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
            raise failed(java + error.message) from None


def _is_same(included: str, asked: str) -> bool:
    if _normal(included).endswith(_normal(asked)):
        return True
    try:
        return plugins.find(included) == plugins.find(asked)
    except ConnectError:
        return False


def _plugin(name: str) -> Plugin:
    try:
        return plugins.find(name)
    except ConnectError:
        raise not_found(f"Unknown plugin {name}.") from None


def _normal(name: str) -> str:
    return name.removesuffix(_SUFFIX) or name
