"""`/subjects`: listing, looking up, registering, deleting."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from ottla.registry import decisions, errors
from ottla.registry.drafts import Draft, Registration, draft_of
from ottla.registry.entities import PROTOBUF, RuleFault, Schema
from ottla.registry.names import WILDCARD, is_valid, normal, qualified, within
from ottla.registry.records import SchemaKey
from ottla.registry.rest.bodies import read, registered_fields, schema_fields
from ottla.registry.service import Service, replaced
from ottla.registry.tags import Tagging, fields_of
from ottla.serving.errors import RestError
from ottla.serving.http import Reply
from ottla.serving.routing import INT32, Asked, Route

LATEST = -1


def version_of(text: str) -> int:
    """42202 for what is neither `latest` nor a number that a version may have."""
    if text.strip().lower() == "latest":
        return LATEST
    try:
        version = int(text.strip()) if "_" not in text else 0
    except ValueError:
        version = 0
    if version not in INT32 or (version <= 0 and version != LATEST):
        raise errors.invalid_version(text)
    return version


class Subjects:
    def __init__(self, service: Service) -> None:
        self._service = service

    def reads(self) -> Iterator[Route]:
        yield Route("GET", "/subjects", self.every)
        yield Route("POST", "/subjects/{subject}", self.look_up)
        yield Route("GET", "/subjects/{subject}/metadata", self.latest_with_metadata)
        yield Route("GET", "/subjects/{subject}/versions", self.versions)
        yield Route("GET", "/subjects/{subject}/versions/{version}", self.version)
        yield Route("GET", "/subjects/{subject}/versions/{version}/schema", self.text)
        yield Route("GET", "/subjects/{subject}/versions/{version}/referencedby", self.users)
        yield Route("POST", "/compatibility/subjects/{subject}/versions", self.check_all)
        yield Route("POST", "/compatibility/subjects/{subject}/versions/{version}", self.check)

    def writes(self) -> Iterator[Route]:
        yield Route("POST", "/subjects/{subject}/versions", self.register)
        yield Route("POST", "/subjects/{subject}/versions/{version}/tags", self.tag)
        yield Route("DELETE", "/subjects/{subject}", self.delete)
        yield Route("DELETE", "/subjects/{subject}/versions/{version}", self.delete_version)

    # --- what is there

    async def every(self, asked: Asked) -> list[str]:
        state = self._service.state
        prefix = asked.text("subjectPrefix")
        found = []
        for subject in state.matching(WILDCARD if prefix is None else prefix):
            alive = bool(state.versions(subject))
            wanted = not alive if asked.flag("deletedOnly") else alive or asked.flag("deleted")
            if wanted:
                found.append(subject)
        return page(found, asked, self._service, "subject")

    async def versions(self, asked: Asked) -> list[int]:
        state, subject = self._service.state, self.subject(asked)
        deleted, only = asked.flag("deleted"), asked.flag("deletedOnly")
        if not state.covered(subject, deleted=deleted or only):
            raise errors.subject_not_found(subject)
        negative = asked.flag("deletedAsNegative")
        held = state.versions(subject, deleted=deleted or only or negative)
        if negative:
            numbers = [-one.version if one.deleted else one.version for one in held]
        else:
            numbers = [one.version for one in held if one.deleted or not only]
        return page(numbers, asked, self._service, "subject.version")

    async def version(self, asked: Asked) -> dict[str, Any]:
        schema = self._version(asked, deleted=asked.flag("deleted"))
        tags = fields_of(schema.text, schema.kind, asked.texts("findTags"))
        schema = await self.formatted(schema, asked.text("format"))
        return schema_fields(with_qualified_references(schema, asked)) | tags

    async def text(self, asked: Asked) -> Any:
        schema = self._version(asked, deleted=asked.flag("deleted"))
        return raw_text((await self.formatted(schema, asked.text("format"))).text)

    async def users(self, asked: Asked) -> list[int]:
        schema = self._version(asked, deleted=True)
        key = SchemaKey(schema.subject, schema.version)
        found = self._service.state.users(key, deleted=asked.flag("deleted"))
        return page([id for _, id in found], asked, self._service, "schema")

    async def latest_with_metadata(self, asked: Asked) -> dict[str, Any]:
        state, subject = self._service.state, self.subject(asked)
        deleted = asked.flag("deleted")
        wanted = dict(zip(asked.texts("key"), asked.texts("value"), strict=False)).items()
        for schema in reversed(state.versions(subject, deleted=deleted)):
            if schema.metadata is None:
                continue
            if wanted <= (schema.metadata.properties or {}).items():
                return schema_fields(await self.formatted(schema, asked.text("format")))
        if not state.covered(subject, deleted=deleted):
            raise errors.subject_not_found(subject)
        raise errors.schema_not_found()

    async def look_up(self, asked: Asked) -> dict[str, Any]:
        state, subject = self._service.state, self.subject(asked)
        draft = draft_of(subject, read(asked.body, Registration))
        deleted = asked.flag("deleted")
        normalize = self._normalize(asked, subject)
        found = self._look_up(draft, normalize, deleted)
        if found is None and qualified(subject).in_default:
            found = self._look_up_elsewhere(draft, normalize, deleted)
        if found is None:
            if not state.covered(subject, deleted=deleted):
                raise errors.subject_not_found(subject)
            raise errors.schema_not_found()
        return schema_fields(await self.formatted(found, asked.text("format")))

    def _look_up(self, draft: Draft, normalize: bool, deleted: bool) -> Schema | None:
        return decisions.look_up_with_defaults(
            self._service.state,
            self._service.reader,
            draft,
            normalize=normalize,
            deleted=deleted,
        )

    def _look_up_elsewhere(self, draft: Draft, normalize: bool, deleted: bool) -> Schema | None:
        """The same subject in the other contexts; there it may refer to what is not there."""
        for context in sorted(self._service.state.named_contexts):
            there = replace(draft, subject=f":{context}:{draft.subject}")
            try:
                found = self._look_up(there, normalize, deleted)
            except RestError:
                continue
            if found is not None:
                return found
        return None

    # --- changes

    async def register(self, asked: Asked) -> dict[str, Any]:
        name = self.named(asked)
        may_be_empty = not self._service.settings["schema.reject.empty.subject"]
        sent = read(asked.body, Registration)
        draft = draft_of(normal(name), sent)
        if not is_valid(name, may_be_empty=may_be_empty):
            raise errors.invalid_subject(name)
        schema = await self._service.register(
            draft,
            normalize=self._normalize(asked, draft.subject),
            force=asked.flag("force"),
        )
        return await self._registered(asked, sent, schema)

    async def _registered(self, asked: Asked, sent: Registration, schema: Schema) -> dict[str, Any]:
        """A descriptor that was sent comes back as one: clients keep the answer's schema as if
        they had asked for it in that form."""
        text = sent.schema or ""
        if schema.kind == PROTOBUF and text and not any(one in text for one in " ;{\n"):
            return registered_fields(replaced(schema, text))
        return registered_fields(await self.formatted(schema, asked.text("format")))

    async def without_a_write(self, asked: Asked) -> dict[str, Any] | None:
        """The answer to a registration that changes nothing, which needs no leader."""
        name = self.named(asked)
        sent = read(asked.body, Registration)
        draft = draft_of(normal(name), sent)
        if not is_valid(name) or draft.is_empty:
            return None
        normalize = self._normalize(asked, draft.subject)
        found = decisions.already_there(
            self._service.state, self._service.reader, draft, normalize=normalize
        )
        return None if found is None else await self._registered(asked, sent, found)

    async def tag(self, asked: Asked) -> dict[str, Any]:
        name, sent = self.named(asked), read(asked.body, Tagging)
        if not is_valid(name):
            raise errors.invalid_subject(name)
        schema = self._version(asked, deleted=False)
        for rules in (sent.rules, sent.rules_merged):
            try:
                if rules is not None:
                    rules.check()
            except RuleFault as error:
                raise errors.invalid_rules(str(error)) from None
        made = await self._service.decide(
            lambda: decisions.retag(self._service.state, self._service.reader, schema, sent)
        )
        return registered_fields(made)

    async def delete(self, asked: Asked) -> list[int]:
        subject, permanent = self.subject(asked), asked.flag("permanent")
        return await self._service.decide(
            lambda: decisions.delete_subject(self._service.state, subject, permanent=permanent)
        )

    async def delete_version(self, asked: Asked) -> int:
        subject, permanent = self.subject(asked), asked.flag("permanent")
        version = version_of(asked.named["version"])
        return await self._service.decide(
            lambda: decisions.delete_version(
                self._service.state, subject, version, permanent=permanent
            )
        )

    # --- compatibility

    async def check(self, asked: Asked) -> dict[str, Any]:
        subject, version = self.subject(asked), version_of(asked.named["version"])
        against = self._service.state.version(subject, version)
        if against is None and version != LATEST:
            raise errors.version_not_found(version)
        return await self._checked(asked, subject, [] if against is None else [against])

    async def check_all(self, asked: Asked) -> dict[str, Any]:
        subject = self.subject(asked)
        return await self._checked(asked, subject, self._service.state.versions(subject))

    async def _checked(
        self, asked: Asked, subject: str, earlier: Iterable[Schema]
    ) -> dict[str, Any]:
        draft = draft_of(subject, read(asked.body, Registration))
        verbose = asked.flag("verbose")
        try:
            await self._service.check_draft(draft)
            messages = decisions.check(
                self._service.state,
                self._service.reader,
                draft,
                [*earlier],
                normalize=self._normalize(asked, subject),
            )
        except RestError as error:
            if not verbose or error.code != errors.INVALID_SCHEMA:
                raise
            messages = [error.message]
        answer: dict[str, Any] = {"is_compatible": not messages}
        if verbose:
            answer["messages"] = messages
        return answer

    # --- names and forms

    def named(self, asked: Asked) -> str:
        """The subject that is meant: an alias stands for another."""
        return self._service.state.alias(asked.named["subject"])

    def subject(self, asked: Asked) -> str:
        return normal(self.named(asked))

    def _normalize(self, asked: Asked, subject: str) -> bool:
        if asked.flag("normalize"):
            return True
        return bool(self._service.state.config_in_scope(subject).normalize)

    def _version(self, asked: Asked, *, deleted: bool) -> Schema:
        state, subject = self._service.state, self.subject(asked)
        version = version_of(asked.named["version"])
        found = state.version_anywhere(subject, version, deleted=deleted)
        if found is not None:
            return found
        if not state.covered(subject, deleted=deleted):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(version)

    async def formatted(self, schema: Schema, how: str | None) -> Schema:
        if not (how or "").strip():
            return schema
        return replaced(schema, await self._service.formatted(schema, how or ""))


def with_qualified_references(schema: Schema, asked: Asked) -> Schema:
    if asked.text("referenceFormat") != "qualified" or qualified(schema.subject).in_default:
        return schema
    return msgspec.structs.replace(
        schema,
        md5=b64encode(schema.digest).decode(),  # its GUID stays
        references=tuple(
            msgspec.structs.replace(one, subject=str(within(schema.subject, one.subject or "")))
            for one in schema.references
        ),
    )


def raw_text(text: str) -> Any:
    """A schema alone is its text, as it is, whatever the type of content says."""
    return Reply(200, text.encode())


def page(found: list[Any], asked: Asked, service: Service, what: str) -> list[Any]:
    offset = max(asked.number("offset", 0), 0)
    limit = service.settings.limit(what, asked.number("limit", -1))
    return found[offset : offset + limit]
