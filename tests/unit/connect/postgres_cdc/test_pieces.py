"""Where the stream is cut, and what is left out of it when it goes on."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from ottla.connect.connectors.postgres_cdc.changes import Changes, Options, Piece
from ottla.connect.connectors.postgres_cdc.envelope import Naming
from ottla.connect.connectors.postgres_cdc.offsets import Resume, resume
from ottla.connect.connectors.postgres_cdc.pieces import Pieces
from ottla.connect.connectors.postgres_cdc.tables import Column, PgType, Table
from ottla.connect.data import Record

NAMING = Naming(prefix="p", database="d")
ORDERS = Table(7, "public", "orders", (Column("id", PgType("int4"), nullable=False),), ("id",))


def begin(xid: int) -> bytes:
    return b"B" + struct.pack(">qqI", 0, 0, xid)


def commit() -> bytes:
    return b"C" + struct.pack(">bqqq", 0, 0, 0, 0)


def insert(number: int, table: int = 7) -> bytes:
    text = str(number).encode()
    return b"I" + struct.pack(">IchcI", table, b"N", 1, b"t", len(text)) + text


def pieces(size: int, at: Resume | None = None) -> Pieces:
    return Pieces(NAMING, Options(), size, at or Resume(0))


def read(piece: Piece) -> tuple[list[int], Changes]:
    changes = Changes(piece, lambda: 0)
    records: list[Record] = list(changes.read())
    return [one.value.values["after"].values["id"] for one in records], changes


def send(to: Pieces, transactions: list[list[int]], lsn: int = 100) -> None:
    """Every change has an LSN of its own."""
    to.table(ORDERS)
    for xid, numbers in enumerate(transactions):
        to.message(lsn, begin(xid + 1))
        for number in numbers:
            to.message(lsn := lsn + 1, insert(number))
        to.message(lsn := lsn + 1, commit())


def test_transactions_that_are_whole_are_written_together() -> None:
    stream = pieces(100)
    send(stream, [[1, 2], [3]])
    stream.message(200, begin(9))
    stream.message(201, insert(4))
    (piece,) = stream.take()
    assert read(piece)[0] == [1, 2, 3]
    assert not stream.ready
    stream.message(202, commit())
    (rest,) = stream.take()
    assert read(rest)[0] == [4]


def test_changes_of_one_lsn_stay_together() -> None:
    stream = pieces(2)
    stream.table(ORDERS)
    stream.message(1, begin(1))
    for number in range(6):
        stream.message(5, insert(number))
    assert not stream.ready
    stream.message(6, insert(6))
    (piece,) = stream.take()
    assert read(piece)[0] == [0, 1, 2, 3, 4, 5]


def test_transactions_without_a_captured_change_only_move_the_position() -> None:
    stream = pieces(10)
    stream.message(1, begin(1))
    stream.message(2, insert(1, table=99))
    stream.message(3, commit())
    assert not stream.ready
    assert stream.idle is not None
    assert stream.idle.offset()["lsn_commit"] == 3


@given(st.lists(st.lists(st.integers(0, 9), max_size=7), max_size=6), st.integers(1, 4))
def test_any_run_of_pieces_gives_all_changes_in_their_order(
    transactions: list[list[int]], size: int
) -> None:
    stream = pieces(size)
    send(stream, transactions)
    found = [number for piece in stream.take() for number in read(piece)[0]]
    assert found == [number for one in transactions for number in one]


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=7), min_size=1, max_size=6),
    st.integers(1, 3),
    st.data(),
)
def test_a_stream_that_goes_on_from_any_piece_repeats_and_loses_nothing(
    transactions: list[list[int]], size: int, data: st.DataObject
) -> None:
    stream = pieces(size)
    send(stream, transactions)
    taken = stream.take()
    kept = data.draw(st.integers(1, len(taken)))
    written: list[int] = []
    for piece in taken[:kept]:
        numbers, changes = read(piece)
        written += numbers
    assert changes.position is not None
    place = resume(changes.position.offset())
    again = pieces(size, place)
    again.table(ORDERS)
    lsn = 100
    for xid, numbers in enumerate(transactions):
        end = lsn + len(numbers) + 1
        if end > place.lsn:  # the server skips whole transactions only
            again.message(lsn, begin(xid + 1))
            for at, number in enumerate(numbers):
                again.message(lsn + at + 1, insert(number))
            again.message(end, commit())
        lsn = end
    rest = [number for piece in again.take() for number in read(piece)[0]]
    assert written + rest == [number for one in transactions for number in one]


def test_offsets_of_debezium_are_understood() -> None:
    snapshot = {"last_snapshot_record": True, "lsn": 5, "txId": 1, "snapshot": "INITIAL"}
    assert resume(snapshot) == Resume(5)
    first = {"lsn_proc": 9, "messageType": "INSERT", "lsn": 9, "txId": 2}
    assert resume(first) == Resume(0, 2, 9)
    within = {**first, "lsn_commit": 7}
    assert resume(within) == Resume(7, 2, 9, 7)
    begun = {**within, "messageType": "BEGIN"}
    assert resume(begun) == Resume(7, last_commit=7)
