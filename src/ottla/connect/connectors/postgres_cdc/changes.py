"""A piece of the stream as records: raw messages in, records and the progress at its end out. Pure.

`Piece` is what travels to a Spark task. It begins where the piece before it ended, so it carries
what that one knew: the tables, and how far an open transaction has come.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ottla.connect.connectors.debezium.schemas import TRANSACTION
from ottla.connect.connectors.debezium.service_records import transaction_record
from ottla.connect.connectors.postgres_cdc import protocol
from ottla.connect.connectors.postgres_cdc.envelope import Naming, Source, TableRecords
from ottla.connect.connectors.postgres_cdc.offsets import Position
from ottla.connect.connectors.postgres_cdc.protocol import Delete, Insert, Truncate, Update
from ottla.connect.connectors.postgres_cdc.service_records import message_record
from ottla.connect.connectors.postgres_cdc.tables import Table
from ottla.connect.data import Header, Record, Struct

Item = tuple[int, bytes | Table]  # a message and its LSN, or a table from here on


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    tombstones: bool = True
    skipped: frozenset[str] = frozenset("t")
    transactions: bool = False  # provide.transaction.metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """What a piece begins with."""

    xid: int | None = None  # of the open transaction
    us: int | None = None  # of its commit, or of the last one's
    last_commit: int | None = None
    origin: protocol.Origin | None = None
    skip_xid: int | None = None
    skip_through: int = 0
    counts: tuple[tuple[str, int], ...] = ()  # of the open transaction's events, by table


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    naming: Naming
    options: Options
    begin: Progressed
    tables: tuple[Table, ...]
    items: tuple[Item, ...]


_CHANGES: Mapping[type, str] = {
    Insert: "INSERT",
    Update: "UPDATE",
    Delete: "DELETE",
    Truncate: "TRUNCATE",
}


# A position's LSN, message type, last commit, transaction, time and counts.
_Arrived = tuple[int, str, int | None, int | None, int | None, dict[str, int] | None]


@dataclass(slots=True)
class Changes:
    """Reads one piece; `position` is where it ended, None if it held nothing of note."""

    piece: Piece
    now_ns: Callable[[], int]
    _arrived: _Arrived | None = None
    _tables: dict[int, TableRecords] = field(default_factory=dict)
    _xid: int | None = None
    _us: int | None = None
    _last_commit: int | None = None
    _origin: protocol.Origin | None = None
    _counts: dict[str, int] = field(default_factory=dict)

    def read(self) -> Iterator[Record]:
        self._begin()
        for lsn, item in self.piece.items:
            if isinstance(item, Table):
                self._meet(item)
            else:
                yield from self._records(lsn, protocol.decode(item))

    def _begin(self) -> None:
        begin = self.piece.begin
        self._xid, self._us, self._last_commit = begin.xid, begin.us, begin.last_commit
        self._origin, self._counts = begin.origin, dict(begin.counts)
        for table in self.piece.tables:
            self._meet(table)

    @property
    def position(self) -> Position | None:
        if self._arrived is None:
            return None
        lsn, message_type, last_commit, xid, us, counts = self._arrived
        return Position(
            processed=lsn,
            message_type=message_type,
            last_commit=last_commit,
            xid=xid,
            us=us,
            counts=counts,
        )

    def _meet(self, table: Table) -> None:
        self._tables[table.oid] = TableRecords(table, self.piece.naming)

    def _records(self, lsn: int, message: protocol.Message | None) -> Iterable[Record]:
        message_type = _CHANGES.get(type(message))
        if message_type is None:
            return self._around_changes(lsn, message)
        if self._written(lsn):
            return ()
        records = self._change(lsn, message)  # type: ignore[arg-type]
        self._arrive(lsn, message_type)
        return records

    def _around_changes(self, lsn: int, message: protocol.Message | None) -> Iterator[Record]:
        match message:
            case protocol.Begin(_, us, xid):
                self._xid, self._us, self._origin = xid, us, None
                resumed = xid == self.piece.begin.skip_xid
                self._counts = dict(self.piece.begin.counts) if resumed else {}
                if self.piece.options.transactions and not resumed:
                    yield self._transaction("BEGIN", lsn)
            case protocol.Commit():
                self._last_commit = lsn
                if self.piece.options.transactions:
                    yield self._transaction("END", lsn)
                self._arrive(lsn, "COMMIT")
                self._xid = None
            case protocol.Origin() as origin:
                self._origin = origin
            case protocol.Emitted(transactional, prefix, content):
                if not (transactional and self._written(lsn)):
                    yield self._emitted(lsn, prefix, content, transactional)

    def _written(self, lsn: int) -> bool:
        begin = self.piece.begin
        return self._xid == begin.skip_xid and lsn <= begin.skip_through

    def _arrive(self, lsn: int, message_type: str) -> None:
        counts = dict(self._counts) if self.piece.options.transactions else None
        self._arrived = (lsn, message_type, self._last_commit, self._xid, self._us, counts)

    def _transaction(self, status: str, lsn: int) -> Record:
        counts = self._counts if status == "END" else None
        ms = (self._us or 0) // 1000
        return transaction_record(
            self.piece.naming.prefix, status, f"{self._xid}:{lsn}", counts, ms
        )

    def _emitted(self, lsn: int, prefix: str, content: bytes, transactional: bool) -> Record:
        if not transactional:
            self._last_commit = lsn
        xid = self._xid if transactional else None
        source = Source(self._us, xid, lsn, self._last_commit)
        block = self._block("message", lsn) if transactional else None
        self._arrive(lsn, "MESSAGE")
        return message_record(
            self.piece.naming, prefix, content, source, now_ns=self.now_ns(), transaction=block
        )

    def _block(self, collection: str, lsn: int) -> Struct | None:
        if not self.piece.options.transactions:
            return None
        self._counts[collection] = self._counts.get(collection, 0) + 1
        values = {
            "id": f"{self._xid}:{lsn}",
            "total_order": sum(self._counts.values()),
            "data_collection_order": self._counts[collection],
        }
        return Struct(TRANSACTION, values)

    def _change(self, lsn: int, change: Insert | Update | Delete | Truncate) -> Sequence[Record]:
        skipped = self.piece.options.skipped
        if isinstance(change, Truncate):
            known = [self._tables[oid] for oid in change.relations if oid in self._tables]
            if "t" in skipped:
                return ()
            return [self._record(one, lsn, "t", None, None, None) for one in known]
        table = self._tables.get(change.relation)
        if table is None:
            return ()
        match change:
            case Insert(_, new) if "c" not in skipped:
                return (self._record(table, lsn, "c", table.key(new), None, table.row(new)),)
            case Update(_, old, new) if "u" not in skipped:
                return self._update(table, lsn, old, new)
            case Delete(_, old) if "d" not in skipped:
                key = table.key(old)
                deleted = self._record(table, lsn, "d", key, table.row(old), None)
                tombstones = self.piece.options.tombstones
                return (deleted, table.tombstone(key)) if tombstones else (deleted,)
        return ()

    def _update(
        self, table: TableRecords, lsn: int, old: protocol.Tuple | None, new: protocol.Tuple
    ) -> Sequence[Record]:
        key, old_key = table.key(new), table.key(old)
        before, after = table.row(old), table.row(new, old)
        if old_key is None or key is None or old_key.values == key.values:
            return (self._record(table, lsn, "u", key, before, after),)
        moved = (Header("__debezium.newkey", table.key_schema, key),)
        deleted = self._record(table, lsn, "d", old_key, before, None, moved)
        tombstones = (table.tombstone(old_key, moved),) if self.piece.options.tombstones else ()
        came = (Header("__debezium.oldkey", table.key_schema, old_key),)
        created = self._record(table, lsn, "c", key, None, after, came)
        return (deleted, *tombstones, created)

    def _record(
        self,
        table: TableRecords,
        lsn: int,
        op: str,
        key: Struct | None,
        before: Struct | None,
        after: Struct | None,
        headers: tuple[Header, ...] = (),
    ) -> Record:
        origin = self._origin
        source = Source(
            self._us,
            self._xid,
            lsn,
            self._last_commit,
            origin=origin.name if origin else None,
            origin_lsn=origin.lsn if origin else None,
        )
        of = table.table
        return table.record(
            op,
            key,
            before,
            after,
            source.struct(self.piece.naming, of.schema, of.name),
            now_ns=self.now_ns(),
            transaction=self._block(of.id, lsn),
            headers=headers,
        )
