"""A schema on its way in: as it was sent, then with all that the registry makes of it.

Pure: references are looked up in the state; nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ottla.registry import errors
from ottla.registry.bounds import REFERENCES_MAX, TooComplex
from ottla.registry.entities import (
    AVRO,
    Config,
    Metadata,
    Reference,
    RuleFault,
    RuleSet,
    Schema,
    digest_of,
    merged_metadata,
    merged_rules,
)
from ottla.registry.names import within
from ottla.registry.parsed import NotASchema, Parsed
from ottla.registry.state import State
from ottla.registry.tags import SentTags, with_tags
from ottla.registry.types import SCHEMA_TYPES, Parser

LATEST = -1
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class SentReference(Struct):
    name: str | None = None
    subject: str | None = None
    version: Int32 | None = None


class Registration(
    Struct,
    rename={
        "kind": "schemaType",
        "rules": "ruleSet",
        "tags_added": "schemaTagsToAdd",
        "tags_removed": "schemaTagsToRemove",
        "keeps_tags": "propagateSchemaTags",
    },
):
    """The body of a request that brings a schema."""

    version: Int32 | None = None
    id: Int32 | None = None
    kind: str | None = None
    references: list[SentReference] | None = None
    metadata: Metadata | None = None
    rules: RuleSet | None = None
    schema: str | None = None
    tags_added: list[SentTags] | None = None
    tags_removed: list[SentTags] | None = None
    keeps_tags: bool | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    subject: str
    text: str
    kind: str
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rules: RuleSet | None = None
    version: int = 0  # 0: not said; −1: the latest
    id: int = -1  # -1: not said
    keeps_tags: bool = False  # of the version before

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()

    @property
    def digest(self) -> bytes:
        return digest_of(self.text, self.references, self.metadata, self.rules)

    def as_schema(self, version: int, id: int) -> Schema:
        return Schema(
            self.subject,
            version,
            id,
            self.text,
            self.kind,
            self.references,
            self.metadata,
            self.rules,
        )


def draft_of(subject: str, sent: Registration) -> Draft:
    if sent.rules is not None:
        try:
            sent.rules.check()
        except RuleFault as error:
            raise errors.invalid_rules(str(error)) from None
    kind = AVRO if sent.kind is None else sent.kind
    tagging = bool(sent.tags_added or sent.tags_removed)
    version = sent.version or (LATEST if tagging else 0)  # so that it says which version it is
    return Draft(
        subject,
        with_tags(sent.schema or "", kind, sent.tags_added, sent.tags_removed),
        kind,
        tuple(Reference(one.name, one.subject, one.version) for one in sent.references or ()),
        sent.metadata,
        sent.rules,
        version,
        -1 if sent.id is None else sent.id,
        bool(sent.keeps_tags),
    )


class Reader:
    """Parses drafts and what is stored, with their references."""

    def __init__(self, state: State, parser: Parser) -> None:
        self._state = state
        self._parser = parser

    def parsed(self, schema: Schema) -> Parsed:
        """Of what is stored; its references may be deleted by now, softly."""
        draft = Draft(schema.subject, schema.text, schema.kind, schema.references)
        return self._parse(draft, new=False)[1]

    def canonical(
        self, draft: Draft, config: Config, *, new: bool, normalize: bool, import_: bool
    ) -> tuple[Draft, Parsed]:
        """With the text and the references as they are stored. 42201 for what is no schema."""
        try:
            draft, parsed = self._parse(draft, new=new)
            if not import_:
                parsed.check(strict=bool(config.validate_fields))
                if normalize:
                    parsed = parsed.normal()
                    unique = sorted(set(draft.references))
                    draft = replace(draft, references=tuple(unique))
        except (NotASchema, TooComplex) as error:
            raise errors.invalid_schema(str(error)) from None
        return replace(draft, text=parsed.text, kind=parsed.kind), parsed

    def texts(self, draft: Draft, *, new: bool = True) -> dict[str, str]:
        """Of its references, and theirs."""
        try:
            return self._resolve(draft, new)[1]
        except NotASchema as error:
            raise errors.invalid_schema(str(error)) from None

    def _parse(self, draft: Draft, *, new: bool) -> tuple[Draft, Parsed]:
        if draft.kind not in SCHEMA_TYPES:
            raise NotASchema(f"Invalid schema type {draft.kind}")
        references, texts = self._resolve(draft, new)
        parsed = self._parser(draft.kind, draft.text, texts, new=new)
        return replace(draft, references=references), parsed

    def _resolve(self, draft: Draft, new: bool) -> tuple[tuple[Reference, ...], dict[str, str]]:
        texts: dict[str, str] = {}
        seen: set[str] = set()
        try:
            resolved = self._collect(draft.subject, draft.references, texts, seen, new)
        except NotASchema as error:
            raise NotASchema(f"Invalid schema of type {draft.kind}, details: {error}") from None
        return resolved, texts

    def _collect(
        self,
        subject: str,
        references: Sequence[Reference],
        texts: dict[str, str],
        seen: set[str],
        new: bool,
    ) -> tuple[Reference, ...]:
        """Texts by the name of the reference, each after those that it needs itself."""
        resolved = []
        for one in references:
            if one.name is None or one.subject is None or one.version is None:
                raise NotASchema(f"Invalid reference: {_shown(one)}")
            target = str(within(subject, one.subject))
            found = self._state.version(target, one.version, deleted=not new)
            if found is None:
                raise NotASchema(
                    f'No schema reference found for subject "{target}" and version {one.version}'
                )
            resolved.append(msgspec.structs.replace(one, version=found.version))
            if one.name in seen:
                continue
            seen.add(one.name)
            if len(seen) > REFERENCES_MAX:
                raise NotASchema(f"It refers to more than {REFERENCES_MAX} schemas")
            self._collect(found.subject, found.references, texts, seen, new)
            texts[one.name] = found.text
        return tuple(resolved)


def _shown(one: Reference) -> str:
    return f"{{name='{one.name}', subject='{one.subject}', version={one.version}}}"


def with_defaults(
    draft: Draft, previous: Schema | None, config: Config, version: int | None
) -> Draft:
    """Metadata and rules of the version before where none were sent, and those of the settings.

    `version` is the number that the schema will get; None when it is only looked for."""
    sent_metadata, sent_rules = draft.metadata, draft.rules
    if previous is not None:
        sent_metadata = previous.metadata if sent_metadata is None else sent_metadata
        sent_rules = previous.rules if sent_rules is None else sent_rules
    metadata = merged_metadata(
        merged_metadata(config.default_metadata, sent_metadata), config.override_metadata
    )
    rules = merged_rules(merged_rules(config.default_rules, sent_rules), config.override_rules)
    numbered = metadata is not None and metadata.version is not None
    if version is not None and (draft.version != 0 or numbered):
        metadata = (metadata or Metadata()).with_version(version)
    if metadata is None and rules is None:
        return draft
    return replace(draft, metadata=metadata, rules=rules)


def finds(draft: Draft, parsed: Parsed, earlier: Schema, stored: Parsed, state: State) -> bool:
    """Whether the draft is the earlier schema, though its text is another: sent with all references
    written out, or without the number of its version."""
    if not draft.references and earlier.references and _same(draft, parsed, earlier, stored):
        return True
    ours = _numbered(draft.subject, draft.references, state)
    theirs = _numbered(earlier.subject, earlier.references, state)
    return ours == theirs and _same(draft, parsed, earlier, stored)


def _same(draft: Draft, parsed: Parsed, earlier: Schema, stored: Parsed) -> bool:
    ours, theirs = draft.metadata, earlier.metadata
    our_version = None if ours is None else ours.version
    their_version = None if theirs is None else theirs.version
    if our_version is None and their_version is not None:
        ours, theirs = ours or Metadata(), (theirs or Metadata()).without_version()
    elif our_version is not None and their_version is None:
        if our_version != str(earlier.version):
            return False
        ours, theirs = (ours or Metadata()).without_version(), theirs or Metadata()
    return ours == theirs and draft.rules == earlier.rules and parsed.same(stored)


def _numbered(
    subject: str, references: tuple[Reference, ...], state: State
) -> list[tuple[str | None, str | None, int | None]]:
    """With the number of the version in place of "the latest"."""
    numbered = []
    for one in references:
        version = one.version
        if version == LATEST and one.subject is not None:
            latest = state.latest(str(within(subject, one.subject)))
            version = version if latest is None else latest.version
        numbered.append((one.name, one.subject, version))
    return numbered
