"""What is fuzzed: bytes from outside, into the code that meets them first.

A target returns, or raises only what the connection turns into a closed line or an error code.
Anything else, and anything slow, is a finding.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from fuzz.security_targets import SECURITY_TARGETS
from ottla.broker.api import Api, Handler, Listeners, apis, load
from ottla.errors import KafkaError
from ottla.log.config import LogConfig
from ottla.log.validation import AppendOrigin, accept, next_batch
from ottla.wire.checksum import crc32c
from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.compression import Codec
from ottla.wire.framing import read_request_header, skip_header_tags
from ottla.wire.record_batch import CRC_START, HEADER_SIZE, iterate_records

SECONDS_MAX = 0.5
"""CPU time for one input; a stall of the event loop begins far below, but machines differ."""
NOW_MS = 1_700_000_000_000
CONFIGS = (LogConfig(), LogConfig(compact=True), LogConfig(codec=Codec.LZ4))


def served() -> list[tuple[Api, int]]:
    """Every API at every version, in a fixed order."""
    found = {**apis(Listeners.CONTROLLER), **apis(Listeners.BROKER)}
    return [(api, version) for api in found.values() for version in api.versions]


SERVED = served()


def frame(data: bytes) -> None:
    """A whole frame as a connection hands it on: header, tags, body."""
    view = memoryview(data)
    with suppress(MalformedMessage):
        key, version, _, _, position = read_request_header(view)
        api = apis(Listeners.BROKER).get(key)
        if api is None or version not in api.versions:
            return
        handler = load(api)
        if version >= handler.request.FLEXIBLE_SINCE:
            position = skip_header_tags(view, position)
        _body(handler, version, view, position)


def body(data: bytes) -> None:
    """The first two bytes choose API and version, the rest is the request's body."""
    if len(data) < 2:
        return
    api, version = SERVED[int.from_bytes(data[:2], "big") % len(SERVED)]
    with suppress(MalformedMessage):
        _body(load(api), version, memoryview(data), 2)


def _body(handler: Handler, version: int, view: memoryview, position: int) -> None:
    request, end = decode(handler.request, version, view, position)
    written = encode(request, version)  # what was understood can be said again, and means the same
    again, whole = decode(handler.request, version, memoryview(written))
    assert (again, whole) == (request, len(written)), (request, again)
    assert end <= len(view)


def batch(data: bytes) -> None:
    """A batch from a producer; its checksum is put right, for a fuzzer cannot guess it."""
    forged = bytearray(data[1:])
    if len(forged) > CRC_START:
        forged[17:21] = crc32c(memoryview(forged)[CRC_START:]).to_bytes(4, "big")
    view = memoryview(bytes(forged))
    config = CONFIGS[data[0] % len(CONFIGS)] if data else CONFIGS[0]
    with suppress(KafkaError):
        header = next_batch(view, 0)
        if header is None:
            return
        accepted = accept(view, 0, header, config, AppendOrigin.CLIENT, NOW_MS)
        assert len(accepted.batch) >= HEADER_SIZE
        for _ in iterate_records(accepted.batch, 0, accepted.header):
            pass


Target = Callable[[bytes], None]
TARGETS: dict[str, Target] = {"frame": frame, "body": body, "batch": batch, **SECURITY_TARGETS}


def within_time(target: Target, data: bytes) -> None:
    before = time.process_time()
    target(data)
    taken = time.process_time() - before
    assert taken < SECONDS_MAX, f"{len(data)} bytes took {taken:.2f} s"
