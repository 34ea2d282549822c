"""`/connector-plugins`: what may be run, and what its configuration may say."""

from collections.abc import Iterator, Sequence
from typing import Any

from ottla.connect import converters, plugins, predicates, transforms
from ottla.connect.connector import ConnectError
from ottla.connect.definitions import Definitions, Key
from ottla.connect.rest.bodies import bad_request, failed, not_found, read_config, read_object
from ottla.connect.rest.validating import Validating
from ottla.connect.validation import KAFKA_VERSION, key_info, plugin_keys
from ottla.serving.errors import RestError
from ottla.serving.routing import Asked, Route
from ottla.version import VERSION

_SUFFIX = "Connector"


class PluginRoutes:
    def __init__(self, validating: Validating) -> None:
        self._validating = validating

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/connector-plugins", self.listed)
        yield Route("GET", "/connector-plugins/{plugin}/config", self.keys)
        yield Route("PUT", "/connector-plugins/{plugin}/config/validate", self.validate)

    async def listed(self, asked: Asked) -> Any:
        """Connectors; with `connectorsOnly=false` also what stands between them and topics."""
        kinds = {"sink": 0, "source": 1}
        found = sorted(plugins.served(), key=lambda one: (kinds[one.kind], one.classes[0]))
        listed = [
            {"class": name, "type": one.kind, "version": one.version}
            for one in found
            for name in one.classes
            if "." in name
        ]
        every = (asked.text("connectorsOnly") or "true").lower() == "false"
        return [*listed, *_between()] if every else listed

    async def keys(self, asked: Asked) -> Any:
        return [key_info(key) for key in _keys(asked.named["plugin"])]

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


def _between() -> Iterator[dict[str, str]]:
    """Transforms, predicates and converters, in Connect's order."""
    own, headers = converters.NOT_FOR_HEADERS, converters.HEADERS_ONLY
    kinds = (
        ("transformation", transforms.CLASSES),
        ("predicate", predicates.CLASSES),
        ("converter", [one for one in converters.CLASSES if one not in headers]),
        ("header_converter", [one for one in converters.CLASSES if one not in own]),
    )
    for kind, names in kinds:
        for name in sorted(names):
            version = VERSION if name in own else KAFKA_VERSION
            yield {"class": name, "type": kind, "version": version}


def _keys(name: str) -> Sequence[Key]:
    """Of a plugin of any kind, by any of its names."""
    try:
        found = plugins.find(name)
    except ConnectError:
        for package in (transforms, predicates, converters):
            whole = package.class_name(name)
            if whole is not None:
                table: Definitions = package.definitions(whole)
                return table.keys
        raise not_found(f"Unknown plugin {name}.") from None
    own = plugins.module_of(found).DEFINITIONS
    return plugin_keys(found.kind, own, version=found.version)


def _normal(name: str) -> str:
    return name.removesuffix(_SUFFIX) or name
