"""What a request that changes something comes to: records to write, and the answer once they are.

Pure: a decision looks at the state and changes nothing. Whether this process may write at all is
`service`'s affair.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec

from ottla.registry import errors
from ottla.registry.drafts import LATEST, Draft, Reader, finds, with_defaults
from ottla.registry.entities import Config, Metadata, Mode, Schema, merged_rules
from ottla.registry.levels import LENIENT, Earlier, Level, incompatibilities
from ottla.registry.names import DEFAULT_CONTEXT, context_of, is_context, prefix_of, qualified
from ottla.registry.parsed import Parsed, TooComplex
from ottla.registry.records import (
    ClearSubject,
    ClearSubjectKey,
    ConfigKey,
    Context,
    ContextKey,
    DeleteSubject,
    DeleteSubjectKey,
    ModeKey,
    SchemaKey,
    Write,
)
from ottla.registry.state import State
from ottla.registry.tags import Tagging, carried_on, with_tags

T = TypeVar("T")
ID_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    reply: T
    writes: tuple[Write, ...] = ()


# --- registering


def look_up(
    state: State,
    reader: Reader,
    draft: Draft,
    *,
    normalize: bool,
    deleted: bool,
    latest_only: bool = False,
) -> Schema | None:
    """The version of the draft's subject that the draft is."""
    if draft.is_empty:
        return None
    config = state.config_in_scope(draft.subject)
    import_ = state.mode_in_scope(draft.subject).brings_ids
    draft, parsed = reader.canonical(draft, config, new=False, normalize=normalize, import_=import_)
    if latest_only:
        latest = state.latest(draft.subject)
        candidates = [] if latest is None else [latest]
    else:
        context = context_of(draft.subject)
        found_id = state.id_of(draft.digest, context)
        if found_id is not None:
            version = state.holders(found_id, context).get(draft.subject)
            found = version and state.version(draft.subject, version, deleted=deleted)
            if found:
                return msgspec.structs.replace(found, timestamp=None, deleted=False)
        candidates = state.versions(draft.subject, deleted=deleted)
    for one in reversed(candidates):
        if one.kind == draft.kind and finds(draft, parsed, one, reader.parsed(one), state):
            return one
    return None


def look_up_with_defaults(
    state: State, reader: Reader, draft: Draft, *, normalize: bool, deleted: bool
) -> Schema | None:
    """Also as it would have been registered: with the metadata and rules of the version before."""
    found = look_up(state, reader, draft, normalize=normalize, deleted=deleted)
    latest = state.latest(draft.subject)
    if found is not None or latest is None:
        return found
    config = state.config_in_scope(draft.subject)
    completed = with_defaults(draft, latest, config, None)
    if completed == draft:
        return None
    return look_up(state, reader, completed, normalize=normalize, deleted=deleted)


def already_there(state: State, reader: Reader, draft: Draft, *, normalize: bool) -> Schema | None:
    """What a registration comes to without a write; any registry of the group may answer it."""
    if state.config_in_scope(draft.subject).adds_something:
        return None
    latest_only = draft.version == -1
    found = look_up(
        state, reader, draft, normalize=normalize, deleted=False, latest_only=latest_only
    )
    if found is None:
        return None
    if draft.version == 0 or latest_only:
        return found if draft.id < 0 or draft.id == found.id else None
    if draft.id != found.id:
        return None
    if found.version == draft.version:
        return found
    older = state.version(draft.subject, draft.version)
    if older is not None and older.id == found.id and older.digest == found.digest:
        return older
    return None


def register(
    state: State, reader: Reader, draft: Draft, *, normalize: bool, force: bool
) -> Decision[Schema]:
    subject, mode = draft.subject, state.mode_in_scope(draft.subject)
    _check_mode(draft, mode)
    every = state.versions(subject, deleted=True)
    alive = [one for one in every if not one.deleted]
    new_version = every[-1].version + 1 if every else 1
    config = state.config_in_scope(subject)
    if not mode.brings_ids:
        draft = _completed(draft, alive, config, new_version)
    if draft.is_empty:
        raise errors.invalid_schema("Empty schema")
    new = draft.id < 0 and config.validate_new_schemas is not False
    draft, parsed = reader.canonical(
        draft, config, new=new, normalize=normalize, import_=mode.brings_ids
    )
    known = _known(state, reader, draft, parsed, alive)
    if isinstance(known, Schema):
        return Decision(known)
    if not (mode.brings_ids or force):
        _check_compatible(reader, draft, parsed, alive, config)
    version = draft.version if draft.version > 0 else new_version
    if version != new_version and not mode.brings_ids:
        raise errors.invalid_schema("Version is not one more than previous version")
    id = _id_for(state, draft, known)
    schema = draft.as_schema(version, id)
    writes = (
        *_context_record(state, subject),
        *_replaced(state, schema, every),
        Write(SchemaKey(subject, version), schema),
    )
    return Decision(schema, writes)


def retag(state: State, reader: Reader, schema: Schema, sent: Tagging) -> Decision[Schema]:
    """A version with other tags, metadata or rules becomes the next one."""
    number = sent.new_version or 0
    metadata = sent.metadata or schema.metadata
    rules = sent.rules
    if sent.rules_merged is not None or sent.rules_removed is not None:
        before = state.version(schema.subject, number - 1 if number else LATEST)
        rules = merged_rules(before.rules if before else None, sent.rules_merged)
        rules = rules.without(sent.rules_removed or []) if rules is not None else None
    draft = Draft(
        schema.subject,
        with_tags(schema.text, schema.kind, sent.added, sent.removed),
        schema.kind,
        schema.references,
        metadata if not number else (metadata or Metadata()).with_version(number),
        rules,
        number,
    )
    return register(state, reader, draft, normalize=False, force=False)


def _check_mode(draft: Draft, mode: Mode) -> None:
    context = prefix_of(draft.subject)
    if mode.read_only:
        raise errors.read_only(draft.subject, context)
    if draft.id >= 0 and not mode.brings_ids:
        raise errors.not_permitted(
            f"Subject {draft.subject} in context {context} is not in import mode"
        )
    if draft.id < 0 and mode is not Mode.READWRITE:
        raise errors.not_permitted(
            f"Subject {draft.subject} in context {context} is not in read-write mode"
        )


def _completed(draft: Draft, alive: list[Schema], config: Config, version: int) -> Draft:
    """With the schema of the version before, if only metadata or rules were sent."""
    previous = alive[-1] if alive else None
    if draft.is_empty:
        if previous is None:
            raise errors.invalid_schema("Empty schema")
        draft = replace(
            draft, text=previous.text, kind=previous.kind, references=previous.references
        )
    if draft.keeps_tags and previous is not None and previous.kind == draft.kind:
        draft = replace(draft, text=carried_on(draft.text, previous.text, draft.kind))
    return with_defaults(draft, previous, config, version)


def _known(
    state: State, reader: Reader, draft: Draft, parsed: Parsed, alive: list[Schema]
) -> Schema | int | None:
    """The version that the draft already is; else the id that it has elsewhere; else nothing."""
    id, context = draft.id, context_of(draft.subject)
    found_id = state.id_of(draft.digest, context)
    if found_id is not None and id in (-1, found_id):
        version = state.holders(found_id, context).get(draft.subject)
        here = version and state.version(draft.subject, version)
        if draft.version == 0 and version and here:
            return draft.as_schema(version, found_id)
        id = found_id
    if draft.version == 0:
        for one in reversed(alive):
            if id >= 0 and id != one.id:
                continue
            if one.kind == draft.kind and finds(draft, parsed, one, reader.parsed(one), state):
                return draft.as_schema(one.version, one.id)
    return id if id >= 0 else None


def _id_for(state: State, draft: Draft, known: int | None) -> int:
    context = context_of(draft.subject)
    if known is None:
        id = state.next_id(context)
        if id > ID_MAX:
            raise errors.not_permitted(f"No id is left in context {context}.")
        return id
    for subject, version in state.holders(known, context).items():
        holder = state.version(subject, version, deleted=True)
        if holder is not None and holder.digest != draft.digest:
            shown = prefix_of(draft.subject)
            raise errors.not_permitted(
                f"Overwrite new schema with id {known} in context {shown} is not permitted."
            )
        break
    return known


def _context_record(state: State, subject: str) -> Iterable[Write]:
    context = context_of(subject)
    if context != DEFAULT_CONTEXT and context not in state.named_contexts:
        yield Write(ContextKey(context), Context(context))


def _replaced(state: State, schema: Schema, every: list[Schema]) -> Iterable[Write]:
    """Deleted versions that had the id before: the new one takes their place."""
    for old in every:
        key = SchemaKey(old.subject, old.version)
        came_back = old.deleted and old.id == schema.id and old.version < schema.version
        if came_back and not state.users(key, deleted=True):
            yield Write(key)


# --- compatibility


def check(
    state: State,
    reader: Reader,
    draft: Draft,
    earlier: list[Schema],
    *,
    normalize: bool,
) -> list[str]:
    """Messages about what is not compatible; nothing is registered."""
    config = state.config_in_scope(draft.subject)
    if draft.is_empty:
        raise errors.invalid_schema("Empty schema")
    draft, parsed = reader.canonical(
        draft,
        config,
        new=config.validate_new_schemas is not False,
        normalize=normalize,
        import_=state.mode_in_scope(draft.subject).brings_ids,
    )
    return _messages(reader, draft, parsed, earlier, config)


def _check_compatible(
    reader: Reader, draft: Draft, parsed: Parsed, alive: list[Schema], config: Config
) -> None:
    messages = _messages(reader, draft, parsed, alive, config)
    if messages:
        raise errors.incompatible(draft.subject, messages)


def _messages(
    reader: Reader, draft: Draft, parsed: Parsed, earlier: list[Schema], config: Config
) -> list[str]:
    level = Level(config.level or Level.BACKWARD)
    messages = _reserved(draft, parsed, earlier) if config.validate_fields else []
    if config.group is not None:
        group = _property(draft, config.group)
        earlier = [one for one in earlier if _property(one, config.group) == group]
    held = [Earlier(one.version, _later(reader, one)) for one in earlier]
    try:
        messages += incompatibilities(parsed, held, level, lenient=config.policy == LENIENT)
    except (TooComplex, RecursionError) as error:
        raise errors.invalid_schema(
            str(error) if isinstance(error, TooComplex) else "The schemas are nested too deeply"
        ) from None
    if messages:
        checked = "true" if config.validate_fields else "false"
        messages.append(f"{{validateFields: '{checked}', compatibility: '{level}'}}")
    return messages


def _later(reader: Reader, schema: Schema) -> Callable[[], Parsed]:
    return lambda: reader.parsed(schema)


RESERVED = "confluent:reserved"


def _reserved(draft: Draft, parsed: Parsed, earlier: list[Schema]) -> list[str]:
    """Fields that are kept free: they may neither be given up nor used."""
    names = _names(draft)
    before = _names(earlier[-1]) if earlier else set()
    return [
        f"The new schema has reserved field {name} removed from its metadata which is present in "
        "the old schema's metadata."
        for name in sorted(before - names)
    ] + [
        f"The new schema has field that conflicts with the reserved field {name}."
        for name in sorted(names & parsed.top_fields)
    ]


def _names(held: Draft | Schema) -> set[str]:
    return {name.strip() for name in (_property(held, RESERVED) or "").split(",")} - {""}


def _property(held: Draft | Schema, name: str) -> str | None:
    if held.metadata is None or held.metadata.properties is None:
        return None
    return held.metadata.properties.get(name)


# --- deleting


def _check_writable(state: State, subject: str | None) -> None:
    if state.mode_in_scope(subject).read_only:
        context = "" if subject is None else prefix_of(subject)
        raise errors.read_only(subject, context)


def delete_version(state: State, subject: str, version: int, *, permanent: bool) -> Decision[int]:
    schema = state.version(subject, version, deleted=True)
    if schema is None:
        if not state.covered(subject, deleted=True):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(version)
    if schema.deleted and not permanent:
        raise errors.version_soft_deleted(subject, version)
    _check_writable(state, subject)
    key = SchemaKey(subject, schema.version)
    if state.users(key, deleted=permanent):
        raise errors.reference_exists(*key)
    if not permanent:
        deleted = msgspec.structs.replace(schema, deleted=True)
        return Decision(schema.version, (Write(key, deleted),))
    if not schema.deleted:
        raise errors.version_not_soft_deleted(subject, schema.version)
    last = len(state.versions(subject, deleted=True)) == 1
    settings = _settings(state, subject) if last else ()
    return Decision(schema.version, (Write(key), *settings))


def delete_subject(state: State, subject: str, *, permanent: bool) -> Decision[list[int]]:
    if not state.covered(subject, deleted=True):
        raise errors.subject_not_found(subject)
    if not permanent and not state.covered(subject, deleted=False):
        raise errors.subject_soft_deleted(subject)
    _check_writable(state, subject)
    doomed = state.versions(subject, deleted=permanent)
    for schema in doomed:
        key = SchemaKey(subject, schema.version)
        if state.using_subjects(key, deleted=permanent) - {subject}:
            raise errors.reference_exists(*key)
        if permanent and not schema.deleted:
            raise errors.subject_not_soft_deleted(subject)
    versions = [schema.version for schema in doomed]
    if not permanent:
        last = versions[-1] if versions else 0
        return Decision(versions, (Write(DeleteSubjectKey(subject), DeleteSubject(subject, last)),))
    # from the last one back: versions of a subject may refer to those before them
    gone = [Write(SchemaKey(subject, version)) for version in reversed(versions)]
    return Decision(versions, (*gone, *_settings(state, subject)))


def _settings(state: State, subject: str) -> Iterable[Write]:
    """A subject that is gone for good leaves no settings."""
    if subject in state.modes:
        yield Write(ModeKey(subject))
    if subject in state.configs:
        yield Write(ConfigKey(subject))


def delete_context(state: State, context: str) -> Decision[None]:
    """`context` is what stands before its subjects."""
    if state.covered(context, deleted=True):
        raise errors.context_not_empty(context)
    return Decision(None, (Write(ContextKey(qualified(context).context)),))


# --- settings


def update_config(
    state: State, subject: str | None, changed: Config, said: set[str]
) -> Decision[Config]:
    """`said` are the fields that the request has, also those that it sets to nothing."""
    _check_writable(state, subject)
    old = state.configs.get(subject)
    updates = {name: getattr(changed, name) for name in said}
    new = changed if old is None else msgspec.structs.replace(old, **updates)
    return Decision(new, (Write(ConfigKey(subject), new),))


def delete_config(state: State, subject: str | None) -> Decision[Config]:
    old = state.config(subject)
    if old is None:
        raise errors.subject_not_found(subject or "")
    _check_writable(state, subject)
    return Decision(old, (Write(ConfigKey(subject)),))


def set_mode(
    state: State, subject: str | None, mode: Mode | None, *, force: bool
) -> Decision[Mode | None]:
    """No mode: the setting goes."""
    writes: list[Write] = []
    importing = mode is Mode.IMPORT and state.mode_in_scope(subject) is not Mode.IMPORT
    if importing and not force:
        if state.covered(subject, deleted=False):
            raise errors.not_permitted("Cannot import since found existing subjects")
        for held in state.covered(subject, deleted=True):
            for schema in state.versions(held, deleted=True):
                key = SchemaKey(held, schema.version)
                if state.users(key, deleted=True):
                    raise errors.reference_exists(*key)
                writes.append(Write(key))
        writes.append(Write(ClearSubjectKey(subject), ClearSubject(subject)))
    writes.append(Write(ModeKey(subject), mode))
    return Decision(mode, tuple(writes))


def delete_mode(state: State, subject: str | None, *, recursive: bool) -> Decision[Mode | None]:
    old = state.mode(subject)
    if old is None and not recursive:
        raise errors.subject_not_found(subject or "")
    doomed = [subject]
    if recursive and is_context(subject):
        held = [one for one in state.modes if one is not None and one != subject]
        doomed += [one for one in held if context_of(one) == context_of(subject)]
    return Decision(old, tuple(Write(ModeKey(one)) for one in doomed))
