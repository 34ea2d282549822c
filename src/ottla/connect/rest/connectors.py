"""`/connectors`: what runs, what is wanted of it, and how it is."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from ottla.connect import herder, records
from ottla.connect.herder import restart_plan
from ottla.connect.java_map import hash_order
from ottla.connect.records import PAUSED, STARTED, STOPPED
from ottla.connect.rest.bodies import (
    bad_request,
    conflict,
    failed,
    info_fields,
    not_found,
    read_config,
    read_object,
    state_fields,
    status_fields,
    task_id,
)
from ottla.connect.rest.validating import Validating
from ottla.connect.state import RestartAsked
from ottla.connect.worker import Worker
from ottla.serving.errors import RestError
from ottla.serving.http import Reply
from ottla.serving.routing import NOT_FOUND, Asked, Route

_INITIAL = {"RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}
_ACCEPTED, _NO_CONTENT = Reply(202), Reply(204)
_WHOLE = re.compile(r"[+-]?\d+")


class Connectors:
    def __init__(self, worker: Worker, validating: Validating) -> None:
        self._worker = worker
        self._validating = validating

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/connectors", self.listed)
        yield Route("GET", "/connectors/{name}", self.info)
        yield Route("GET", "/connectors/{name}/config", self.config)
        yield Route("GET", "/connectors/{name}/status", self.status)
        yield Route("GET", "/connectors/{name}/topics", self.topics)
        yield Route("GET", "/connectors/{name}/tasks", self.tasks)
        yield Route("GET", "/connectors/{name}/tasks/{task}/status", self.task_status)

    def writes(self) -> Iterator[Route]:
        yield Route("POST", "/connectors", self.create)
        yield Route("PUT", "/connectors/{name}/config", self.put_config)
        yield Route("PATCH", "/connectors/{name}/config", self.patch_config)
        yield Route("DELETE", "/connectors/{name}", self.delete)
        yield Route("PUT", "/connectors/{name}/pause", self.pause)
        yield Route("PUT", "/connectors/{name}/resume", self.resume)
        yield Route("PUT", "/connectors/{name}/stop", self.stop)
        yield Route("POST", "/connectors/{name}/restart", self.restart)
        yield Route("POST", "/connectors/{name}/tasks/{task}/restart", self.restart_task)
        yield Route("PUT", "/connectors/{name}/topics/reset", self.reset_topics)

    # --- reads

    async def listed(self, asked: Asked) -> Any:
        state = self._worker.state
        names = hash_order(state.configs.connectors)
        expansions = asked.texts("expand")
        if not expansions:
            return names
        return {
            name: {
                expansion: status_fields(state, name)
                if expansion == "status"
                else info_fields(state, name)
                for expansion in expansions
                if expansion in ("status", "info")
            }
            for name in names
            if "status" not in expansions or name in state.statuses.connectors
        }

    async def info(self, asked: Asked) -> Any:
        return info_fields(self._worker.state, self._known(asked))

    async def config(self, asked: Asked) -> Any:
        return self._worker.state.config(self._known(asked))

    async def status(self, asked: Asked) -> Any:
        return status_fields(self._worker.state, asked.named["name"])

    async def topics(self, asked: Asked) -> Any:
        self._tracking()
        name = asked.named["name"]
        return {name: {"topics": list(self._worker.state.statuses.topics.get(name, ()))}}

    async def tasks(self, asked: Asked) -> Any:
        name = self._known(asked)
        tasks = self._worker.state.configs.connectors[name].tasks
        return [{"id": task_id(name, index), "config": one} for index, one in enumerate(tasks)]

    async def task_status(self, asked: Asked) -> Any:
        name, index = asked.named["name"], _number(asked)
        status = self._worker.state.statuses.tasks.get(name, {}).get(index)
        if status is None:
            raise not_found(f"No status found for task {name}-{index}")
        return {"id": index, **state_fields(status)}

    def _known(self, asked: Asked, sentence: str = "Connector {} not found") -> str:
        name = asked.named["name"]
        if name not in self._worker.state.configs.connectors:
            raise not_found(sentence.format(name))
        return name

    def _tracking(self, *, reset: bool = False) -> None:
        if not self._worker.settings["topic.tracking.enable"]:
            raise RestError(403, 403, "Topic tracking is disabled.")
        if reset and not self._worker.settings["topic.tracking.allow.reset"]:
            raise RestError(403, 403, "Topic tracking reset is disabled.")

    # --- configurations

    async def create(self, asked: Asked) -> Any:
        body = read_object(asked.body)
        unknown = [field for field in body if field not in ("name", "config", "initial_state")]
        if unknown:
            raise failed(f'Unrecognized field "{unknown[0]}".')
        target = _initial_state(body.get("initial_state"))
        if body.get("config") is None:
            raise failed("config is missing.")
        name = str(body.get("name") or "").strip()
        config = _named(name, read_config(body["config"], "config"))
        await self._validating.check(config)
        if name in self._worker.state.configs.connectors:
            raise conflict(f"Connector {name} already exists")
        return await self._written(asked, name, config, target)

    async def put_config(self, asked: Asked) -> Any:
        name = asked.named["name"]
        config = _named(name, read_config(read_object(asked.body)))
        await self._validating.check(config)
        return await self._written(asked, name, config)

    async def patch_config(self, asked: Asked) -> Any:
        """Fields that are null go."""
        patch = read_config(read_object(asked.body))
        name = self._known(asked)
        stored = dict(self._worker.state.config(name) or {})
        config = {key: value for key, value in {**stored, **patch}.items() if value is not None}
        await self._validating.check(config)
        return await self._written(asked, name, config, created=False)

    async def _written(
        self,
        asked: Asked,
        name: str,
        config: Mapping[str, str | None],
        target: str | None = None,
        created: bool | None = None,
    ) -> Any:
        is_new = name not in self._worker.state.configs.connectors if created is None else created
        first = [] if target is None else [records.target_state(name, target)]
        before = [] if is_new else [*self._worker.state.configs.connectors[name].tasks]
        await self._worker.write_configs([*first, records.connector(name, config)])
        fields = info_fields(self._worker.state, name, config)
        fields["tasks"] = [task_id(name, index) for index in range(len(before))]
        place = f"{_own_url(asked)}/connectors/{quote(name, safe='')}"
        headers = {"location": place} if is_new else {}
        return Reply(201 if is_new else 200, msgspec.json.encode(fields), headers=headers)

    async def delete(self, asked: Asked) -> Any:
        name = self._known(asked)
        await self._worker.write_configs(
            [records.connector(name, None), records.target_state(name, None)]
        )
        await self._worker.settled(name)
        return _NO_CONTENT

    # --- target states

    async def pause(self, asked: Asked) -> Any:
        name = self._known(asked, "Unknown connector {}")
        await self._worker.write_configs([records.target_state(name, PAUSED)])
        return _ACCEPTED

    async def resume(self, asked: Asked) -> Any:
        name = self._known(asked, "Unknown connector {}")
        await self._worker.write_configs([records.target_state(name, STARTED)])
        return _ACCEPTED

    async def stop(self, asked: Asked) -> Any:
        name = self._known(asked, "Unknown connector {}")
        await self._worker.write_configs([records.commit(name, 0)])
        await self._worker.write_configs([records.target_state(name, STOPPED)])
        return _NO_CONTENT

    # --- restarts

    async def restart(self, asked: Asked) -> Any:
        name = self._known(asked, "Unknown connector: {}")
        request = RestartAsked(name, asked.flag("includeTasks"), asked.flag("onlyFailed"))
        if not request.include_tasks and not request.only_failed:
            self._worker.ask(herder.ConnectorRestart(name))
            await self._worker.settled(name)
            return _NO_CONTENT
        plan = restart_plan(self._worker.state, request)
        if plan is None:
            raise not_found(f"Status for connector {name} not found")
        restarting = dict.fromkeys(
            (*((None,) if plan.connector else ()), *plan.tasks), "RESTARTING"
        )
        answer = status_fields(self._worker.state, name, restarting)
        record = records.restart(
            name, include_tasks=request.include_tasks, only_failed=request.only_failed
        )
        await self._worker.write_configs([record])
        await self._worker.settled(name)
        return Reply(202, msgspec.json.encode(answer))

    async def restart_task(self, asked: Asked) -> Any:
        index = _number(asked)
        name = self._known(asked, "Unknown connector: {}")
        if not 0 <= index < len(self._worker.state.configs.connectors[name].tasks):
            raise not_found(f"Unknown task: {name}-{index}")
        self._worker.ask(herder.TaskRestart(name, index))
        await self._worker.settled(name)
        return _NO_CONTENT

    async def reset_topics(self, asked: Asked) -> Any:
        self._tracking(reset=True)
        name = asked.named["name"]
        topics = self._worker.state.statuses.topics.get(name, {})
        await self._worker.write_statuses([records.topic_unused(name, one) for one in topics])
        self._worker.ask(herder.TopicsForgotten(name))
        return _ACCEPTED


def _number(asked: Asked) -> int:
    if not _WHOLE.fullmatch(asked.named["task"]):
        raise NOT_FOUND
    return int(asked.named["task"])


def _initial_state(said: Any) -> str | None:
    if said is None:
        return None
    if str(said).upper() not in _INITIAL:
        raise failed(f"initial_state is one of {', '.join(_INITIAL)}, not {said}.")
    return _INITIAL[str(said).upper()]


def _named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    said = config.get("name")
    if said is None:
        config["name"] = name
    elif said != name:
        raise bad_request(
            f"Connector name configuration ({said}) doesn't match connector name in the URL "
            f"({name})"
        )
    return config


def _own_url(asked: Asked) -> str:
    return f"{asked.headers.get('x-forwarded-proto', 'http')}://{asked.headers.get('host', '')}"
