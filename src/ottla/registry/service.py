"""A registry at work: reads from memory, decides and writes where it leads, hands on where not."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from ottla.registry import decisions, errors
from ottla.registry.decisions import Decision
from ottla.registry.drafts import Draft, Reader
from ottla.registry.entities import PROTOBUF, Schema
from ottla.registry.parsed import NotASchema, TooComplex
from ottla.registry.records import (
    SCHEMA_BEGIN,
    Key,
    Unreadable,
    Write,
    decode,
    encode,
    encode_key,
)
from ottla.registry.settings import Settings
from ottla.registry.state import State
from ottla.registry.types import Parser
from ottla.serving.leadership import Leadership
from ottla.serving.producing import Fenced, RecordTooLarge, Unwritten
from ottla.serving.topic_state import TopicState
from ottla.wire.record_batch import Record

T = TypeVar("T")


class Memory:
    """The state of the topic's records; all of it is forgotten when they are read anew."""

    def __init__(self, default_level: str) -> None:
        self._default_level = default_level
        self.unreadable = 0  # records passed over
        self.reset()

    def reset(self) -> None:
        self.state = State(self._default_level)
        self._spellings: dict[Key, set[bytes]] = {}  # of keys that others wrote in another way

    def apply(self, record: Record) -> None:
        try:
            read = decode(record.key, record.value, record.timestamp)
        except Unreadable:
            self.unreadable += 1
            return
        self.state.apply(read)
        if not (record.key or b"").startswith(SCHEMA_BEGIN):
            self._note_spelling(read.key, record)

    def _note_spelling(self, key: Key, record: Record) -> None:
        spelled = bytes(record.key or b"")
        if spelled == encode_key(key):
            return
        if record.value:
            self._spellings.setdefault(key, set()).add(spelled)
        else:
            self._spellings.get(key, set()).discard(spelled)

    def encoded(self, writes: Iterable[Write]) -> Iterator[tuple[bytes, bytes | None]]:
        """The records of these writes.

        Compaction compares keys as bytes: what another registry spelled in another way would be
        there again when our tombstone is gone. So each spelling has one of its own, before ours.
        """
        for write in writes:
            for spelled in sorted(self._spellings.get(write.key, ())):
                yield spelled, None
            yield encode(write)


class Service:
    def __init__(
        self, settings: Settings, memory: Memory, topic: TopicState, leadership: Leadership
    ) -> None:
        self.settings = settings
        self.topic = topic
        self.leadership = leadership
        self._memory = memory
        self._parser = Parser()
        self._deciding = asyncio.Lock()  # one decision after the other's record is applied

    @property
    def state(self) -> State:
        return self._memory.state

    @property
    def reader(self) -> Reader:
        return Reader(self.state, self._parser)

    async def decide(self, decision: Callable[[], Decision[T]]) -> T:
        """Only where this registry leads."""
        async with self._deciding:
            made = decision()
            if made.writes:
                await self._write(list(self._memory.encoded(made.writes)))
            return made.reply

    async def _write(self, records: list[tuple[bytes, bytes | None]]) -> None:
        try:
            await self.topic.write(records)
        except RecordTooLarge:
            raise errors.schema_too_large() from None
        except Unwritten as error:
            self.leadership.stumbled()
            raise errors.timed_out(f"Register operation timed out: {error}") from None
        except Fenced:
            self.leadership.stumbled()
            raise errors.leader_unknown() from None

    async def check_draft(self, draft: Draft) -> None:
        """What only a compiler beside this process can say of a new schema."""
        if draft.kind != PROTOBUF or draft.is_empty:
            return
        from ottla.registry.protobuf.compiler import check

        await check(draft.text, self.reader.texts(draft))

    async def formatted(self, schema: Schema, how: str) -> str:
        """The text of a schema, written in a way that a client asks for."""
        if schema.kind == PROTOBUF and how == "serialized":
            from ottla.registry.protobuf.compiler import serialized

            draft = Draft(schema.subject, schema.text, schema.kind, schema.references)
            return await serialized(schema.text, self.reader.texts(draft, new=False))
        try:
            return self.reader.parsed(schema).formatted(how)
        except (NotASchema, TooComplex) as error:
            raise errors.invalid_schema(str(error)) from None

    async def register(self, draft: Draft, *, normalize: bool, force: bool) -> Schema:
        await self.check_draft(draft)
        return await self.decide(
            lambda: decisions.register(
                self.state, self.reader, draft, normalize=normalize, force=force
            )
        )


def replaced(schema: Schema, text: str) -> Schema:
    """The same schema written another way; its GUID stays that of what is stored."""
    return msgspec.structs.replace(schema, text=text, md5=b64encode(schema.digest).decode())
