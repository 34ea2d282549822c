"""A Fetch reply as a row of buffers: record bytes are never copied into it."""

from struct import Struct

from ottla.broker.fetching.sessions import Key
from ottla.broker.transport.pending_reply import Body, Buffer
from ottla.errors import ErrorCode
from ottla.log.partition_log import PartitionLog
from ottla.wire.codec import uvarint

_FRONT_4 = Struct(">i")
_FRONT_7 = Struct(">ihi")
_PARTITION_4 = Struct(">ihqq")
_PARTITION_5 = Struct(">ihqqq")
_PARTITION_FLEXIBLE = Struct(">ihqqqBi")
_INT32 = Struct(">i")
_TRANSACTION = Struct(">qq")
_EPOCH_END = Struct(">iq")
_LEADER = Struct(">ii")

Leadership = tuple[int, int]  # leader id, epoch
Endpoint = tuple[int, str, int, str | None]  # node id, host, port, rack


class Fetched:
    """What was read of one partition."""

    __slots__ = (
        "aborted",
        "current_leader",
        "data",
        "diverging",
        "error",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "partition",
        "preferred_read_replica",
    )

    def __init__(self, partition: int, error: int = ErrorCode.NONE) -> None:
        self.partition = partition
        self.error = error
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1
        self.data: Buffer = b""
        self.aborted: list[tuple[int, int]] | None = None
        self.preferred_read_replica = -1
        self.diverging: tuple[int, int] | None = None  # epoch, end offset
        self.current_leader: Leadership | None = None

    def bounds_of(self, log: PartitionLog) -> None:
        self.high_watermark = log.high_watermark
        self.last_stable_offset = log.last_stable_offset
        self.log_start_offset = log.log_start_offset


def write_fetch_response(
    version: int,
    fetched: list[tuple[Key, Fetched]],
    *,
    session_id: int = 0,
    throttle_ms: int = 0,
    error: int = ErrorCode.NONE,
    endpoints: list[Endpoint] | None = None,
) -> Body:
    """The whole body, in the order given: a topic has as many parts as there are runs of its
    partitions."""
    topics: list[tuple[str, bytes, list[Fetched]]] = []
    for (name, topic_id, _), one in fetched:
        if not topics or topics[-1][0] != name or topics[-1][1] != topic_id:
            topics.append((name, topic_id, []))
        topics[-1][2].append(one)
    out = bytearray(
        _FRONT_7.pack(throttle_ms, error, session_id)
        if version >= 7
        else _FRONT_4.pack(throttle_ms)
    )
    body: Body = []
    flexible = version >= 12
    out += uvarint(len(topics) + 1) if flexible else _INT32.pack(len(topics))
    for name, topic_id, partitions in topics:
        if version >= 13:
            out += topic_id
        else:
            text = name.encode()
            out += uvarint(len(text) + 1) if flexible else len(text).to_bytes(2, "big")
            out += text
        out += uvarint(len(partitions) + 1) if flexible else _INT32.pack(len(partitions))
        for one in partitions:
            if flexible:
                _flexible_front(out, one)
            else:
                _plain_front(out, one, version)
            if len(one.data):
                body += (bytes(out), one.data)
                out.clear()
            if flexible:
                out += _tags(one)
        if flexible:
            out += b"\0"
    if flexible:
        out += _endpoints(endpoints) if endpoints and version >= 16 else b"\0"
    body.append(bytes(out))
    return body


def _plain_front(out: bytearray, one: Fetched, version: int) -> None:
    if version >= 5:
        out += _PARTITION_5.pack(
            one.partition,
            one.error,
            one.high_watermark,
            one.last_stable_offset,
            one.log_start_offset,
        )
    else:
        out += _PARTITION_4.pack(
            one.partition, one.error, one.high_watermark, one.last_stable_offset
        )
    if one.aborted is None:
        out += b"\xff\xff\xff\xff"
    else:
        out += _INT32.pack(len(one.aborted))
        for transaction in one.aborted:
            out += _TRANSACTION.pack(*transaction)
    if version >= 11:
        out += _INT32.pack(one.preferred_read_replica)
    out += _INT32.pack(len(one.data))


def _flexible_front(out: bytearray, one: Fetched) -> None:
    if one.aborted:
        out += _PARTITION_5.pack(
            one.partition,
            one.error,
            one.high_watermark,
            one.last_stable_offset,
            one.log_start_offset,
        )
        out += uvarint(len(one.aborted) + 1)
        for transaction in one.aborted:
            out += _TRANSACTION.pack(*transaction)
            out += b"\0"
        out += _INT32.pack(one.preferred_read_replica)
    else:
        out += _PARTITION_FLEXIBLE.pack(
            one.partition,
            one.error,
            one.high_watermark,
            one.last_stable_offset,
            one.log_start_offset,
            0 if one.aborted is None else 1,
            one.preferred_read_replica,
        )
    out += uvarint(len(one.data) + 1)


def _tags(one: Fetched) -> bytes:
    if one.diverging is None and one.current_leader is None:
        return b"\0"
    tags = []
    if one.diverging is not None:
        tags.append(b"\x00\x0d" + _EPOCH_END.pack(*one.diverging) + b"\0")
    if one.current_leader is not None:
        tags.append(b"\x01\x09" + _LEADER.pack(*one.current_leader) + b"\0")
    return uvarint(len(tags)) + b"".join(tags)


def _endpoints(endpoints: list[Endpoint]) -> bytes:
    """The tagged field that tells where the leaders named above are (KIP-951)."""
    out = bytearray(uvarint(len(endpoints) + 1))
    for node_id, host, port, rack in endpoints:
        text = host.encode()
        out += _INT32.pack(node_id) + uvarint(len(text) + 1) + text + _INT32.pack(port)
        place = None if rack is None else rack.encode()
        out += b"\0" if place is None else uvarint(len(place) + 1) + place
        out += b"\0"
    return b"\x01\x00" + uvarint(len(out)) + out
