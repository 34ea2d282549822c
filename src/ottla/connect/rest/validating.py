"""Configurations that are checked before they are taken, or only to be checked."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from ottla.connect import plugins
from ottla.connect.connector import ConnectError, TriedOut
from ottla.connect.definitions import ConfigValue, InvalidConfig
from ottla.connect.overrides import refused_overrides
from ottla.connect.redaction import Redaction
from ottla.connect.rest.bodies import bad_request
from ottla.connect.validation import Validated, validated
from ottla.connect.worker import Worker


class Validating:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def validated(
        self, config: Mapping[str, str | None], *, trying: bool = False
    ) -> Validated:
        """400 where there is no connector to ask. `trying`: what the keys name is connected to, if
        nothing else is wrong; tables that are there are recommended."""
        if not config.get("connector.class"):
            shown = ", ".join(f"{name}={value}" for name, value in config.items())
            raise bad_request(f"Connector config {{{shown}}} contains no connector type")
        try:
            return await asyncio.to_thread(self._validated, config, trying)
        except ConnectError as error:
            raise bad_request(str(error)) from None

    def _validated(self, config: Mapping[str, str | None], trying: bool) -> Validated:
        """The connector itself judges with secrets in their places; none is in what is returned."""
        worker = self._worker
        said = {name: value for name, value in config.items() if value is not None}
        alias = said["connector.class"]
        plugin = plugins.find(alias)
        module = plugins.module_of(plugin)
        resolved = worker.providers.resolve(said)
        found = validated(
            plugin.kind,
            module.DEFINITIONS,
            {**config, **resolved},
            worker.settings.for_runs,
            version=plugin.version,
            check=lambda: module.make(resolved, alias),
        )
        if trying and not found.error_count:
            _try_out(found, module.make(worker.providers.resolve(said), alias))
        policy = worker.settings["connector.client.config.override.policy"]
        redacted = Redaction(said, resolved, plugins.passwords(plugin))
        values = {
            name: replace(
                one,
                value=one.value if said.get(name) == resolved.get(name) else said[name],
                errors=[redacted(sentence) for sentence in one.errors],
            )
            for name, one in found.values.items()
        }
        for name, sentence in refused_overrides(policy, config).items():
            values.setdefault(name, ConfigValue(name, config[name])).errors.append(sentence)
        return Validated(name=found.name, groups=found.groups, keys=found.keys, values=values)

    async def check(self, config: Mapping[str, str | None]) -> None:
        """400 with every error."""
        found = await self.validated(config)
        if found.error_count:
            raise bad_request(
                "\n".join(
                    (
                        "Connector configuration is invalid and contains the following "
                        f"{found.error_count} error(s):",
                        *(one for errors in found.errors.values() for one in errors),
                        "You can also find the above list of errors at the endpoint "
                        "`/connector-plugins/{connectorType}/config/validate`",
                    )
                )
            )


def _try_out(found: Validated, connector: object) -> None:
    if not isinstance(connector, TriedOut):
        return
    try:
        for name, recommended in connector.try_out().items():
            found.values[name].recommended = list(recommended)
    except InvalidConfig as error:
        for name, sentences in error.errors.items():
            found.values[name].errors += sentences
