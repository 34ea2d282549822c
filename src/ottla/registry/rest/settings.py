"""`/config` and `/mode`: of everything, of a context, of a subject."""

from collections.abc import Iterator
from typing import Any

import msgspec

from ottla.registry import decisions, errors
from ottla.registry.entities import Config, Mode, RuleFault
from ottla.registry.levels import POLICIES, level_of
from ottla.registry.names import (
    is_default_context,
    is_global_context,
    is_valid,
    normal,
)
from ottla.registry.rest.bodies import config_request_fields, read
from ottla.registry.service import Service
from ottla.serving.routing import Asked, Route

_FIELDS = {field.encode_name: field.name for field in msgspec.structs.fields(Config)}


class ModeUpdate(msgspec.Struct):
    mode: str | None = None


class SettingsRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def reads(self) -> Iterator[Route]:
        for path in ("/config", "/config/{subject}"):
            yield Route("GET", path, self.config)
        for path in ("/mode", "/mode/{subject}"):
            yield Route("GET", path, self.mode)

    def writes(self) -> Iterator[Route]:
        for path in ("/config", "/config/{subject}"):
            yield Route("PUT", path, self.update_config)
            yield Route("DELETE", path, self.delete_config)
        for path in ("/mode", "/mode/{subject}"):
            yield Route("PUT", path, self.update_mode)
            yield Route("DELETE", path, self.delete_mode)

    def _subject(self, asked: Asked) -> str | None:
        name = asked.named.get("subject")
        return None if is_default_context(name) else normal(name or "")

    def _checked(self, asked: Asked) -> str | None:
        name = asked.named.get("subject")
        if name is not None and not is_valid(name, for_setting=True):
            raise errors.invalid_subject(name)
        return self._subject(asked)

    # --- config

    async def config(self, asked: Asked) -> Config:
        state, subject = self._service.state, self._subject(asked)
        if asked.flag("defaultToGlobal"):
            return state.config_in_scope(subject)
        found = state.config(subject)
        if found is None:
            raise errors.no_config(subject or "")
        return found

    async def update_config(self, asked: Asked) -> dict[str, Any]:
        sent = read(asked.body, dict[str, Any])
        if "compatibility" in sent:  # the level's name in a request
            sent["compatibilityLevel"] = sent.pop("compatibility")
        said = {_FIELDS[name] for name in sent if name in _FIELDS}
        changed = self._config(read(msgspec.json.encode(sent), Config))
        subject = self._checked(asked)
        updated = await self._service.decide(
            lambda: decisions.update_config(self._service.state, subject, changed, said)
        )
        return config_request_fields(updated)

    def _config(self, sent: Config) -> Config:
        level, policy = sent.level, sent.policy
        if level is not None:
            known = level_of(level)
            if known is None:
                raise errors.invalid_level()
            level = known.value
        if policy is not None:
            policy = policy.upper() if policy.upper() in POLICIES else None
        for rules in (sent.default_rules, sent.override_rules):
            try:
                if rules is not None:
                    rules.check()
            except RuleFault as error:
                raise errors.invalid_rules(str(error)) from None
        return msgspec.structs.replace(sent, level=level, policy=policy)

    async def delete_config(self, asked: Asked) -> Config:
        subject = self._subject(asked)
        return await self._service.decide(
            lambda: decisions.delete_config(self._service.state, subject)
        )

    # --- mode

    async def mode(self, asked: Asked) -> dict[str, Any]:
        state, subject = self._service.state, self._subject(asked)
        found = (
            state.mode_in_scope(subject) if asked.flag("defaultToGlobal") else state.mode(subject)
        )
        if found is None:
            raise errors.no_mode(subject or "")
        return {"mode": found}

    async def update_mode(self, asked: Asked) -> dict[str, Any]:
        subject = self._checked(asked)
        sent = read(asked.body, ModeUpdate).mode
        if sent is not None and sent.upper() not in Mode.__members__:
            raise errors.invalid_mode()
        mode = None if sent is None else Mode(sent.upper())
        if mode is Mode.FORWARD and not is_global_context(subject):
            raise errors.invalid_mode("Forward mode only supported on global level")
        self._check_mutable()
        force = asked.flag("force")
        await self._service.decide(
            lambda: decisions.set_mode(self._service.state, subject, mode, force=force)
        )
        return {} if sent is None else {"mode": sent}

    async def delete_mode(self, asked: Asked) -> dict[str, Any]:
        subject, recursive = self._subject(asked), asked.flag("recursive")

        def decide() -> decisions.Decision[Mode | None]:
            decision = decisions.delete_mode(self._service.state, subject, recursive=recursive)
            self._check_mutable()
            return decision

        old = await self._service.decide(decide)
        return {} if old is None else {"mode": old}

    def _check_mutable(self) -> None:
        if not self._service.settings["mode.mutability"]:
            raise errors.not_permitted("Mode changes are not allowed")
