"""`/connectors/{name}/offsets`: where a connector stands, and surgery while it is stopped."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from ottla.connect.connector import ConnectError
from ottla.connect.rest.bodies import bad_request, failed, not_found, read_object
from ottla.connect.sink_offsets import SinkGroup, sink_positions
from ottla.connect.source_offsets import checked_offsets
from ottla.connect.worker import Worker
from ottla.errors import OttlaError
from ottla.serving.routing import Asked, Route

_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be "
    "done for the specified connector by issuing a 'PUT' request to the '/connectors/{}/stop' "
    "endpoint"
)


_DONE = "The offsets for this connector have been {} successfully"
_DONE_IN_KAFKA = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, "
    "if this connector manages offsets externally, they will need to be manually {0} in the system "
    "that the connector uses."
)


class OffsetRoutes:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/connectors/{name}/offsets", self.shown)

    def writes(self) -> Iterator[Route]:
        yield Route("PATCH", "/connectors/{name}/offsets", self.alter)
        yield Route("DELETE", "/connectors/{name}/offsets", self.reset)

    async def shown(self, asked: Asked) -> Any:
        name = self._known(asked)
        if self._is_sink(name):
            held = await asyncio.to_thread(self._group(name).positions)
            return {
                "offsets": [sink_fields(topic, index, at) for (topic, index), at in held.items()]
            }
        return {
            "offsets": [
                {"partition": partition, "offset": offset}
                for partition, offset in await self._source_offsets(name)
            ]
        }

    async def alter(self, asked: Asked) -> Any:
        body = read_object(asked.body)
        said = body.get("offsets")
        if not said:
            raise bad_request(
                "Partitions / offsets need to be provided for an alter offsets request"
            )
        if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
            raise failed("offsets is no list of objects.")
        name = self._stopped(asked)
        pairs = [(one.get("partition"), one.get("offset")) for one in said]
        for what in (place for pair in pairs for place in pair):
            if what is not None and not isinstance(what, dict):
                raise failed(f"{what} is no JSON object.")
        if self._is_sink(name):
            positions = sink_positions(pairs)
            group = self._group(name)
            held = await asyncio.to_thread(group.positions)
            await asyncio.to_thread(group.move, positions)
            await asyncio.to_thread(self._worker.move_target, name, positions, held)
        else:
            try:
                plugin = self._worker.plugin_of(name)
                checked_offsets(plugin, pairs)
            except ConnectError as error:
                raise failed(str(error)) from None
            await self._worker.fence(name, 0)
            await self._write(name, pairs)
        return self._done(name, "altered")

    async def reset(self, asked: Asked) -> Any:
        name = self._stopped(asked)
        if self._is_sink(name):
            group = self._group(name)
            held = await asyncio.to_thread(group.positions)
            await asyncio.to_thread(group.delete)
            await asyncio.to_thread(self._worker.move_target, name, dict.fromkeys(held), held)
        else:
            await self._worker.fence(name, 0)
            told = await self._source_offsets(name)
            await self._write(name, [(partition, None) for partition, _ in told])
        return self._done(name, "reset")

    async def _source_offsets(self, name: str) -> list[tuple[Any, Any]]:
        try:
            return await self._worker.source_offsets(name)
        except (ConnectError, OttlaError) as error:
            raise failed(str(error)) from None

    async def _write(self, name: str, pairs: Sequence[tuple[Any, Any]]) -> None:
        try:
            await self._worker.write_source_offsets(name, pairs)
        except (ConnectError, OttlaError) as error:
            raise failed(str(error)) from None

    def _done(self, name: str, verb: str) -> dict[str, str]:
        plugin = self._worker.plugin_of(name)
        short = plugin is None or plugin.knows_its_offsets
        return {"message": (_DONE if short else _DONE_IN_KAFKA).format(verb)}

    def _known(self, asked: Asked) -> str:
        name = asked.named["name"]
        if name not in self._worker.state.configs.connectors:
            raise not_found(f"Connector {name} not found")
        return name

    def _stopped(self, asked: Asked) -> str:
        name = self._known(asked)
        if not self._worker.state.is_stopped(name):
            raise bad_request(_NOT_STOPPED.format(name))
        return name

    def _is_sink(self, name: str) -> bool:
        plugin = self._worker.plugin_of(name)
        return plugin is not None and plugin.kind == "sink"

    def _group(self, name: str) -> SinkGroup:
        config = self._worker.state.config(name) or {}
        return SinkGroup(
            self._worker.connection,
            config.get("consumer.override.group.id") or f"connect-{name}",
            name,
        )


def sink_fields(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": partition},
        "offset": {"kafka_offset": offset},
    }
