"""`/schemas`: by id, by GUID, all of them. `/contexts`."""

from collections.abc import Iterator
from typing import Any

from ottla.registry import decisions, errors
from ottla.registry.entities import Schema
from ottla.registry.names import DEFAULT_CONTEXT, context_of, normal
from ottla.registry.records import SchemaKey
from ottla.registry.rest.bodies import by_id_fields, schema_fields
from ottla.registry.rest.subjects import (
    page,
    raw_text,
    with_qualified_references,
)
from ottla.registry.service import Service
from ottla.registry.tags import fields_of
from ottla.registry.types import SCHEMA_TYPES
from ottla.serving.http import Reply
from ottla.serving.routing import Asked, Route, whole_number


class Schemas:
    def __init__(self, service: Service) -> None:
        self._service = service

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/schemas", self.every)
        yield Route("GET", "/schemas/types", self.types)
        yield Route("GET", "/schemas/ids/{id}", self.by_id)
        yield Route("GET", "/schemas/ids/{id}/schema", self.text)
        yield Route("GET", "/schemas/ids/{id}/subjects", self.subjects)
        yield Route("GET", "/schemas/ids/{id}/versions", self.versions)
        yield Route("GET", "/schemas/guids/{guid}", self.by_guid)
        yield Route("GET", "/schemas/guids/{guid}/ids", self.ids)
        yield Route("GET", "/contexts", self.contexts)

    def writes(self) -> Iterator[Route]:
        yield Route("DELETE", "/contexts/{context}", self.delete_context)

    async def types(self, asked: Asked) -> list[str]:
        return list(SCHEMA_TYPES)

    async def every(self, asked: Asked) -> list[dict[str, Any]]:
        state = self._service.state
        deleted, latest_only = asked.flag("deleted"), asked.flag("latestOnly")
        rule_type = asked.text("ruleType")
        aliases = self._aliases() if asked.flag("aliases") else {}
        found = []
        for subject in state.matching(asked.text("subjectPrefix") or ""):
            held = state.versions(subject, deleted=deleted)
            for schema in held[-1:] if latest_only else held:
                if rule_type and not (schema.rules and schema.rules.has_type(rule_type)):
                    continue
                more = {"aliases": aliases[subject]} if subject in aliases else {}
                found.append({**schema_fields(schema), **more})
        return page(found, asked, self._service, "schema")

    def _aliases(self) -> dict[str, list[str]]:
        """Subject -> names that stand for it."""
        state = self._service.state
        found: dict[str, list[str]] = {}
        for name in sorted(one for one in state.configs if one is not None):
            if state.alias(name) != name:
                found.setdefault(state.alias(name), []).append(name)
        return found

    # --- by id

    async def by_id(self, asked: Asked) -> dict[str, Any]:
        id, schema = self._by_id(asked)
        if schema is None:
            raise errors.schema_not_found(id)
        text = await self._formatted(schema, asked)
        state = self._service.state
        id_max = state.id_max(context_of(schema.subject)) if asked.flag("fetchMaxId") else None
        tags = fields_of(schema.text, schema.kind, asked.texts("findTags"))
        return by_id_fields(with_qualified_references(schema, asked), text, id_max) | tags

    async def text(self, asked: Asked) -> Any:
        id, schema = self._by_id(asked)
        if schema is None:
            raise errors.schema_not_found(id)
        return raw_text(await self._formatted(schema, asked))

    async def subjects(self, asked: Asked) -> list[str]:
        held = [one.subject for one in self._held(asked)]
        return page(held, asked, self._service, "subject")

    async def versions(self, asked: Asked) -> list[dict[str, Any]]:
        held = [{"subject": one.subject, "version": one.version} for one in self._held(asked)]
        return page(held, asked, self._service, "subject.version")

    def _by_id(self, asked: Asked) -> tuple[int, Schema | None]:
        id = whole_number(asked.named["id"])
        key = self._service.state.key_of(id, self._subject(asked))
        return id, None if key is None else self._stored(key)

    def _held(self, asked: Asked) -> list[Schema]:
        """Those that have the id."""
        state = self._service.state
        id = whole_number(asked.named["id"])
        key = state.key_of(id, self._subject(asked))
        if key is None:
            raise errors.schema_not_found()
        deleted = asked.flag("deleted")
        found = [
            state.version(subject, version, deleted=deleted)
            for subject, version in state.holders(id, context_of(key.subject)).items()
        ]
        return [one for one in found if one is not None]

    def _subject(self, asked: Asked) -> str | None:
        subject = asked.text("subject")
        return normal(self._service.state.alias(subject)) if subject else subject

    def _stored(self, key: SchemaKey) -> Schema | None:
        return self._service.state.version(*key, deleted=True)

    async def _formatted(self, schema: Schema, asked: Asked) -> str:
        how = (asked.text("format") or "").strip()
        return await self._service.formatted(schema, how) if how else schema.text

    # --- by GUID

    async def by_guid(self, asked: Asked) -> dict[str, Any]:
        guid = asked.named["guid"]
        for context, id in self._ids(guid):
            key = self._service.state.key_of(id, f":{context}:")
            schema = None if key is None else self._stored(key)
            if schema is not None:
                fields = by_id_fields(schema, await self._formatted(schema, asked), None)
                del fields["subject"], fields["version"]
                return fields
        raise errors.schema_not_found(guid)

    async def ids(self, asked: Asked) -> list[dict[str, Any]]:
        found = self._ids(asked.named["guid"])
        return [{"context": context, "id": id} for context, id in found]

    def _ids(self, guid: str) -> list[tuple[str, int]]:
        try:
            digest = bytes.fromhex(guid.replace("-", ""))
        except ValueError:
            return []
        state = self._service.state
        found = [(context, state.id_of(digest, context)) for context in state.all_contexts()]
        return sorted((context, id) for context, id in found if id is not None)

    # --- contexts

    async def contexts(self, asked: Asked) -> list[str]:
        prefix = asked.text("contextPrefix") or ""
        held = [one for one in self._service.state.all_contexts() if one.startswith(prefix)]
        return page(held, asked, self._service, "context")

    async def delete_context(self, asked: Asked) -> Reply:
        context = normal(asked.named["context"])
        if context_of(context) == DEFAULT_CONTEXT:
            raise errors.context_not_empty(context)
        await self._service.decide(lambda: decisions.delete_context(self._service.state, context))
        return Reply(204)
