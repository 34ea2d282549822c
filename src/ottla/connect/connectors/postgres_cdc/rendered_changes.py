"""A piece of the stream as JSON at once: changes are rendered, the rest is as ever. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ottla.connect.connectors.postgres_cdc import protocol
from ottla.connect.connectors.postgres_cdc.changes import Changes
from ottla.connect.connectors.postgres_cdc.rendering import (
    JsonChain,
    RenderedTable,
    StreamSource,
)
from ottla.connect.connectors.postgres_cdc.tables import Table
from ottla.connect.data import Record
from ottla.connect.pipeline import Row

_INSERT, _UPDATE, _DELETE = b"IUD"
_TYPES = {_INSERT: "INSERT", _UPDATE: "UPDATE", _DELETE: "DELETE"}
_OPS = {_INSERT: "c", _UPDATE: "u", _DELETE: "d"}
_NEW = ord("N")  # a row follows, with no older one before it
_NULL = b"null"


@dataclass(slots=True, kw_only=True)
class RenderedChanges(Changes):
    json: JsonChain
    _rendered: dict[int, RenderedTable] = field(default_factory=dict)
    _sources: dict[int, StreamSource] = field(default_factory=dict)

    def read_json(self) -> Iterator[Row | Record]:
        """As `read`; what cannot be rendered is a record."""
        self._begin()
        for lsn, item in self.piece.items:
            if isinstance(item, Table):
                self._meet(item)
            elif item[0] in _TYPES:
                yield from self._row_changed(lsn, item)
            else:
                yield from self._records(lsn, protocol.decode(item))

    def _meet(self, table: Table) -> None:
        super(RenderedChanges, self)._meet(table)
        self._rendered.pop(table.oid, None)
        try:
            made = RenderedTable(self._tables[table.oid], self.json)
        except Exception:  # whatever it is, each of its records will say it
            return
        self._rendered[table.oid] = made
        self._sources[table.oid] = StreamSource(made)

    def _row_changed(self, lsn: int, data: bytes) -> Sequence[Row | Record]:
        kind = data[0]
        table = self._rendered.get(protocol.relation_of(data))
        if table is None:
            return list(self._records(lsn, protocol.decode(data)))
        if self._written(lsn) or _OPS[kind] in self.piece.options.skipped:
            return list(self._records(lsn, protocol.decode(data)))
        try:
            made = self._made(lsn, kind, data, table)
        except Exception:  # a record fails where failures are dealt with
            made = None
        if made is None:
            return list(self._records(lsn, protocol.decode(data)))
        self._arrive(lsn, _TYPES[kind])
        return made

    def _made(self, lsn: int, kind: int, data: bytes, table: RenderedTable) -> Sequence[Row] | None:
        """None: a row whose key has changed."""
        first, end = protocol.raw_tuple(data, 6)
        key = table.key(first)
        source = self._sources[table.records.table.oid].text(
            self._us, self._xid, lsn, self._last_commit, self._origin
        )
        now_ns = self.now_ns()
        if kind == _INSERT:
            return (table.change("c", key, _NULL, table.row(first), source, now_ns),)
        if kind == _DELETE:
            deleted = table.change("d", key, table.row(first), _NULL, source, now_ns)
            tombstones = self.piece.options.tombstones
            return (deleted, table.tombstone(key)) if tombstones else (deleted,)
        if data[5] == _NEW:
            return (table.change("u", key, _NULL, table.row(first), source, now_ns),)
        new, _ = protocol.raw_tuple(data, end + 1)
        if table.key(new) != key:
            return None
        after = table.row(new, first)
        return (table.change("u", key, table.row(first), after, source, now_ns),)
