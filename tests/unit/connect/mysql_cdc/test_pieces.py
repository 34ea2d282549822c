"""Where the binlog is cut, and what is left out of it when it goes on."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc import binlog
from ottla.connect.connectors.mysql_cdc.changes import Changes, Options, Piece
from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming
from ottla.connect.connectors.mysql_cdc.offsets import Position, position
from ottla.connect.connectors.mysql_cdc.pieces import Pieces

NAMING = Naming(prefix="p")
START = Position(file="binlog.000001", position=4, gtids="0-1-0")


class Log:
    """Events as a server writes them, from the beginning of a file."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.at = 4
        self.sequence = 0

    def add(self, kind: int, body: bytes) -> None:
        size = 19 + len(body)
        self.at += size
        self.events.append(struct.pack("<IBIIIH", 7, kind, 1, size, self.at, 0) + body)

    def gtid(self, flags: int = 0) -> None:
        self.sequence += 1
        self.add(binlog.MARIADB_GTID, struct.pack("<QIB6x", self.sequence, 0, flags))

    def ddl(self, sql: str) -> None:
        self.gtid(binlog.STANDALONE)
        body = struct.pack("<IIBHH", 1, 0, 4, 0, 0) + b"shop\0" + sql.encode()
        self.add(binlog.QUERY, body)

    def map(self, table: str = "orders") -> None:
        number = struct.pack("<IHH", 9, 0, 1)
        name = table.encode()
        body = number + b"\x04shop\0" + bytes([len(name)]) + name + b"\0\x01\x03\x00\x00"
        self.add(binlog.TABLE_MAP, body)

    def insert(self, *numbers: int) -> None:
        rows = b"".join(b"\x00" + struct.pack("<i", one) for one in numbers)
        self.add(23, struct.pack("<IHH", 9, 0, 1) + b"\x01\x01" + rows)

    def transaction(self, *events: list[int]) -> None:
        self.gtid()
        for numbers in events:
            self.map()
            self.insert(*numbers)
        self.add(binlog.XID, struct.pack("<Q", 1))


def known() -> Schema:
    schema = Schema()
    schema.apply("CREATE TABLE orders (id int NOT NULL PRIMARY KEY)", "shop")
    return schema


def pieces(size: int = 100, at: Position = START, options: Options | None = None) -> Pieces:
    return Pieces(NAMING, options or Options(), size, known(), at)


def numbers(piece: Piece) -> list[int]:
    records = Changes(piece, lambda: 0).read()
    return [one.value.values["after"].values["id"] for one in records if "orders" in one.topic]


def sent_from(log: Log, at: Position) -> list[bytes]:
    """As a server does: all behind the GTIDs that are said."""
    done = int((at.gtids or "0-1-0").rpartition("-")[2])
    begun = 0
    for n, event in enumerate(log.events):
        if binlog.header(event).kind == binlog.MARIADB_GTID:
            begun += 1
            if begun > done:
                return log.events[n:]
    return []


def test_transactions_that_are_whole_are_written_together() -> None:
    log, stream = Log(), pieces()
    log.transaction([1, 2], [3])
    log.gtid()
    log.map()
    log.insert(4)
    for event in log.events:
        stream.event(event)
    (piece,) = stream.take()
    assert numbers(piece) == [1, 2, 3]
    assert piece.offset["gtids"] == "0-1-1"
    assert not stream.ready


@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_wherever_it_is_cut_every_row_is_written_once(shape: list[list[int]], size: int) -> None:
    log, n = Log(), 0
    for transaction in shape:
        events = []
        for rows in transaction:
            events.append(list(range(n, n + rows)))
            n += rows
        log.transaction(*events)
    read: list[int] = []
    at = START
    for _ in range(100):  # each piece by a run of its own
        stream = pieces(size, at)
        for event in sent_from(log, at):
            stream.event(event)
            if stream.ready:
                break
        if not (taken := stream.take()):
            break
        read += numbers(taken[0])
        at = position(taken[0].offset)
    assert read == list(range(n))


@given(st.integers(1, 3), st.integers(0, 3))
def test_rows_that_debezium_has_written_are_skipped(events: int, rows: int) -> None:
    """Its offsets lie between rows; events are counted from the transaction's GTID."""
    log = Log()
    log.transaction([1, 2, 3], [4, 5, 6], [7, 8, 9])
    at = Position(file=START.file, position=4, gtids="0-1-0", events=2 * events, rows=rows)
    stream = pieces(at=at)
    for event in log.events:
        stream.event(event)
    left = [one for piece in stream.take() for one in numbers(piece)]
    assert left == list(range(3 * (events - 1) + rows + 1, 10))


def test_transactions_are_not_cut_where_they_are_recorded() -> None:
    log = Log()
    log.transaction(*([n] for n in range(10)))
    stream = pieces(2, options=Options(transactions=True))
    for event in log.events:
        stream.event(event)
    (piece,) = stream.take()
    begin, *changes, end = Changes(piece, lambda: 0).read()
    assert begin.value.values["status"] == "BEGIN"
    assert [one.value.values["transaction"].values["total_order"] for one in changes] == list(
        range(1, 11)
    )
    assert end.value.values["event_count"] == 10


def test_a_definition_goes_into_the_history_before_what_it_defines() -> None:
    log, stream = Log(), pieces()
    log.ddl("CREATE TABLE later (id int)")
    log.gtid()
    log.map("later")
    entries = [entry for event in log.events for entry in stream.event(event)]
    (entry,) = entries
    assert entry.change.kind == "CREATE"
    assert entry.position.offset() == {
        "ts_sec": 7,
        "file": "binlog.000001",
        "pos": 4,
        "gtids": "0-1-0",
        "server_id": 1,
        "event": 1,
    }
    assert stream.idle.gtids == "0-1-1"


def test_a_table_that_nobody_defined_is_named_in_a_sentence() -> None:
    log, stream = Log(), pieces()
    log.gtid()
    log.map("unheard")
    stream.event(log.events[0])
    with pytest.raises(ConnectError, match=r"shop\.unheard, whose definition is not in the schema"):
        stream.event(log.events[1])


def test_what_is_not_captured_moves_the_offset_alone() -> None:
    log, stream = Log(), pieces()
    log.gtid()
    log.add(binlog.XID, struct.pack("<Q", 1))
    for event in log.events:
        stream.event(event)
    assert not stream.ready
    assert stream.idle.gtids == "0-1-1"
    assert stream.idle.position == log.at
