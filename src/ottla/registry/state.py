"""What the topic says, as a state machine: each record changes it, nothing else does.

Pure. Deciding what to write is `decisions`; the topic is `store`.
"""

from collections.abc import Iterator

import msgspec

from ottla.registry.entities import Config, Mode, Schema
from ottla.registry.names import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    WILDCARD,
    QualifiedSubject,
    context_of,
    covers,
    qualified,
    within,
)
from ottla.registry.records import (
    ClearSubject,
    ConfigKey,
    Context,
    ContextKey,
    DeleteSubject,
    ModeKey,
    SchemaKey,
    Write,
)

_GLOBAL = f":{GLOBAL_CONTEXT}:"
_FIRST_ID = 1


class OneContext:
    """Ids, and who has them, in one context."""

    __slots__ = ("by_digest", "by_id", "id_max", "referenced_by")

    def __init__(self) -> None:
        self.id_max = 0  # >= every id ever seen here; ids of deleted schemas are not given again
        self.by_id: dict[int, dict[str, int]] = {}  # id -> subject -> version
        self.by_digest: dict[bytes, int] = {}
        self.referenced_by: dict[SchemaKey, set[tuple[str, int]]] = {}
        """Schemas of this context -> (context, id) of those that name them."""


class State:
    """Subjects, ids, settings and modes, after all records so far."""

    def __init__(self, default_level: str = "BACKWARD") -> None:
        self.default = Config(level=default_level)
        self.subjects: dict[str, dict[int, Schema]] = {}
        self.configs: dict[str | None, Config] = {}
        self.modes: dict[str | None, Mode] = {}
        self.contexts: dict[str, OneContext] = {}
        self.named_contexts: set[str] = set()

    # --- what records do

    def apply(self, write: Write) -> None:
        key, value = write
        match key, value:
            case SchemaKey(), Schema():
                self._put(key, value)
            case SchemaKey(), None:
                self._forget(key)
            case ConfigKey(subject), None:
                self.configs.pop(subject, None)
            case ConfigKey(subject), Config():
                self.configs[subject] = value
            case ModeKey(subject), None:
                self.modes.pop(subject, None)
            case ModeKey(subject), Mode():
                self.modes[subject] = value
            case _, DeleteSubject(subject, version):
                self._delete_to(subject, version)
            case _, ClearSubject(scope):
                self._clear(scope)
            case ContextKey(context), None:
                self.named_contexts.discard(context)
            case ContextKey(), Context(context):
                self.named_contexts.add(context)

    def _put(self, key: SchemaKey, schema: Schema) -> None:
        context = self._context(key.subject)
        if self._is_taken(context, schema):
            return  # an id has one text; who came second is not believed
        old = self.subjects.setdefault(key.subject, {}).get(key.version)
        if old is not None and old.id != schema.id:
            self._leave(key, old)
        self.subjects[key.subject][key.version] = schema
        context.id_max = max(context.id_max, schema.id)
        context.by_id.setdefault(schema.id, {})[key.subject] = key.version
        context.by_digest[schema.digest] = schema.id
        if not schema.deleted:
            for named in self._references(schema):
                into = self._context(named.subject).referenced_by
                into.setdefault(named, set()).add((context_of(key.subject), schema.id))

    def _is_taken(self, context: OneContext, schema: Schema) -> bool:
        for subject, version in context.by_id.get(schema.id, {}).items():
            holder = self.subjects.get(subject, {}).get(version)
            return holder is not None and holder.text != schema.text
        return False

    def _forget(self, key: SchemaKey) -> None:
        versions = self.subjects.get(key.subject, {})
        old = versions.pop(key.version, None)
        if old is None:
            return
        if not versions:
            del self.subjects[key.subject]
        self._leave(key, old)

    def _leave(self, key: SchemaKey, old: Schema) -> None:
        """A version no longer has its id."""
        context = self._context(key.subject)
        holders = context.by_id.get(old.id, {})
        if holders.get(key.subject) == key.version:
            del holders[key.subject]
        if not holders:
            context.by_id.pop(old.id, None)
        for named in self._references(old):
            into = self._context(named.subject).referenced_by
            users = into.get(named, set())
            users.discard((context_of(key.subject), old.id))
            if not users:
                into.pop(named, None)

    def _delete_to(self, subject: str, last: int) -> None:
        for version, schema in self.subjects.get(subject, {}).items():
            if version <= last and not schema.deleted:
                deleted = msgspec.structs.replace(schema, deleted=True)
                self.subjects[subject][version] = deleted

    def _clear(self, scope: str | None) -> None:
        for subject in [one for one in self.subjects if covers(scope, one)]:
            for version, schema in list(self.subjects[subject].items()):
                if schema.deleted:
                    self._forget(SchemaKey(subject, version))

    def _context(self, subject: str) -> OneContext:
        return self.contexts.setdefault(context_of(subject), OneContext())

    def _references(self, schema: Schema) -> Iterator[SchemaKey]:
        for reference in schema.references:
            if reference.subject is not None and reference.version is not None:
                target = str(within(schema.subject, reference.subject))
                yield SchemaKey(target, reference.version)

    # --- schemas

    def versions(self, subject: str, *, deleted: bool = False) -> list[Schema]:
        """In their order."""
        held = self.subjects.get(subject, {})
        return [held[version] for version in sorted(held) if deleted or not held[version].deleted]

    def latest(self, subject: str) -> Schema | None:
        held = self.versions(subject)
        return held[-1] if held else None

    def version(self, subject: str, version: int, *, deleted: bool = False) -> Schema | None:
        """−1 is the latest."""
        if version == -1:
            return self.latest(subject)
        schema = self.subjects.get(subject, {}).get(version)
        if schema is None or (schema.deleted and not deleted):
            return None
        return schema

    def version_anywhere(self, subject: str, version: int, *, deleted: bool) -> Schema | None:
        """Where a subject without a context has none, the same name in any other context."""
        found = self.version(subject, version, deleted=deleted)
        if found is not None or not qualified(subject).in_default:
            return found
        for context in sorted(self.named_contexts):
            found = self.version(f":{context}:{subject}", version, deleted=deleted)
            if found is not None:
                return found
        return None

    def matching(self, prefix: str) -> list[str]:
        """Subjects by the beginning of their name; `:*:` stands for all contexts, a name without
        a context for the default one, `:.st` for every context that begins so."""
        return sorted(one for one in self.subjects if _begins(qualified(one), prefix))

    def covered(self, scope: str | None, *, deleted: bool) -> list[str]:
        """Subjects that are the scope, or in it, and have a version."""
        if scope is not None and qualified(scope).subject:
            return [scope] if self.versions(scope, deleted=deleted) else []
        return [
            subject
            for subject in self.subjects
            if covers(scope, subject) and self.versions(subject, deleted=deleted)
        ]

    def id_of(self, digest: bytes, context: str) -> int | None:
        """Of a schema that some version still has."""
        held = self.contexts.get(context)
        if held is None:
            return None
        found = held.by_digest.get(digest)
        return found if found in held.by_id else None

    def holders(self, id: int, context: str) -> dict[str, int]:
        """Subject -> version of those that have the id."""
        held = self.contexts.get(context)
        return {} if held is None else held.by_id.get(id, {})

    def key_of(self, id: int, subject: str | None) -> SchemaKey | None:
        """A version with the id: of the subject if one is named, else of any in its context."""
        named = qualified(subject or "")
        found = self._held(id, named.context, str(named) if named.subject else None)
        if found is not None or not named.subject or not named.in_default:
            return found
        for context in sorted(self.named_contexts):
            found = self._held(id, context, f":{context}:{named.subject}")
            if found is not None:
                return found
        return self._held(id, named.context, None)

    def _held(self, id: int, context: str, subject: str | None) -> SchemaKey | None:
        holders = self.holders(id, context)
        if subject is None:
            return SchemaKey(*next(iter(holders.items()))) if holders else None
        return SchemaKey(subject, holders[subject]) if subject in holders else None

    def next_id(self, context: str) -> int:
        held = self.contexts.get(context)
        return _FIRST_ID if held is None else held.id_max + 1

    def id_max(self, context: str) -> int:
        held = self.contexts.get(context)
        return _FIRST_ID if held is None else max(held.id_max, _FIRST_ID)

    def users(self, key: SchemaKey, *, deleted: bool) -> list[tuple[str, int]]:
        """(context, id) of the schemas that refer to this one, in their order."""
        held = self.contexts.get(context_of(key.subject))
        found = held.referenced_by.get(key, set()) if held is not None else set()
        return sorted(one for one in found if deleted or self._lives(*one))

    def _lives(self, context: str, id: int) -> bool:
        return any(
            self.version(subject, version) is not None
            for subject, version in self.holders(id, context).items()
        )

    def using_subjects(self, key: SchemaKey, *, deleted: bool) -> set[str]:
        return {
            subject
            for context, id in self.users(key, deleted=True)
            for subject, version in self.holders(id, context).items()
            if self.version(subject, version, deleted=deleted) is not None
        }

    # --- settings

    def config(self, subject: str | None) -> Config | None:
        """Of the subject itself; without one, or of the global context, there always is one."""
        found = self.configs.get(subject)
        if found is not None:
            return self._with_level(found)
        return self.default if _is_top(subject) else None

    def config_in_scope(self, subject: str | None) -> Config:
        own = None if subject is None else self.config(subject)
        if own is not None:
            top = self.config(None)
            return own if top is None else own.over(top)
        for scope in _scopes(subject):
            found = self.configs.get(scope)
            if found is not None:
                return self._with_level(found)
        return self.default

    def _with_level(self, config: Config) -> Config:
        if config.level is not None:
            return config
        return msgspec.structs.replace(config, level=self.default.level)

    def mode(self, subject: str | None) -> Mode | None:
        found = self.modes.get(subject)
        if found is not None:
            return found
        return Mode.READWRITE if _is_top(subject) else None

    def mode_in_scope(self, subject: str | None) -> Mode:
        for scope in (subject, *_scopes(subject)):
            found = self.modes.get(scope)
            if found is not None:
                return found
        return Mode.READWRITE

    def alias(self, subject: str) -> str:
        """The subject that is meant by a name."""
        config = self.configs.get(subject)
        if config is None or not config.alias:
            return subject
        return str(within(subject, config.alias))

    def all_contexts(self) -> list[str]:
        return [DEFAULT_CONTEXT, *sorted(self.named_contexts)]


def _begins(subject: QualifiedSubject, prefix: str) -> bool:
    if prefix.startswith(WILDCARD):
        return subject.subject.startswith(prefix.removeprefix(WILDCARD))
    if prefix.startswith(":.") and ":" not in prefix[1:]:
        return subject.context.startswith(prefix[1:])
    wanted = qualified(prefix)
    return subject.context == wanted.context and subject.subject.startswith(wanted.subject)


def _is_top(subject: str | None) -> bool:
    return subject is None or context_of(subject) == GLOBAL_CONTEXT


def _scopes(subject: str | None) -> Iterator[str | None]:
    """Where a setting is looked for after the subject itself."""
    context = context_of(subject)
    yield None if context == DEFAULT_CONTEXT else f":{context}:"
    yield _GLOBAL
