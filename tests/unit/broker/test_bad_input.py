"""Bytes nobody should send: refused or cut off, and nobody else notices."""

from itertools import pairwise
from resource import RUSAGE_SELF, getrusage
from struct import pack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.broker.api import Listeners, apis, load
from ottla.broker.dispatch import BadRequest
from ottla.broker.transport.context import Peer
from ottla.wire.codec import MalformedMessage, decode
from ottla.wire.framing import FrameAssembler, FrameTooLong

SERVED = apis(Listeners.BROKER)


def feed(assembler: FrameAssembler, chunks: list[bytes]) -> list[bytes]:
    """The frames that come out when the chunks go in, as a socket would deliver them."""
    frames = []
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            space = assembler.space()
            count = min(len(space), len(chunk) - at)
            space[:count] = chunk[at : at + count]
            at += count
            frames += [bytes(frame) for frame in assembler.received(count)]
    return frames


@given(
    frames=st.lists(st.binary(max_size=300), max_size=10),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
    scratch=st.integers(8, 200),
)
def test_frames_come_out_whole_however_they_are_cut(
    frames: list[bytes], cuts: list[int], scratch: int
) -> None:
    stream = b"".join(pack(">i", len(frame)) + frame for frame in frames)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assembler = FrameAssembler(memoryview(bytearray(scratch)), 10_000)
    assert feed(assembler, chunks) == frames


@pytest.mark.parametrize("size", [-1, -(2**31), 10_001, 2**31 - 1])
def test_a_size_that_lies_is_refused_before_anything_is_allocated(size: int) -> None:
    assembler = FrameAssembler(memoryview(bytearray(64)), 10_000)
    with pytest.raises(FrameTooLong):
        feed(assembler, [pack(">i", size)])


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_garbage_in_a_body_is_a_malformed_message_or_a_message(data: st.DataObject) -> None:
    handler = load(SERVED[data.draw(st.sampled_from(sorted(SERVED)))])
    version = data.draw(st.sampled_from(handler.api.versions))
    body = data.draw(st.binary(max_size=200))
    try:
        decode(handler.request, version, memoryview(body))
    except MalformedMessage:
        return


def test_garbage_never_gets_past_dispatch_as_anything_but_a_reply_or_a_refusal(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            dispatcher = asking.dispatcher
            peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")

            @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
            @given(
                key=st.sampled_from([0, 1, 2, 3, 18, 21, 23, 35, 60, 61]),
                version=st.integers(-1, 20),
                body=st.binary(max_size=120),
            )
            def send(key: int, version: int, body: bytes) -> None:
                frame = pack(">hhih", key, version, 1, -1) + body
                try:
                    dispatcher.take(memoryview(frame), peer)
                except BadRequest:
                    return

            send()

    run(scenario())


@pytest.mark.parametrize(
    ("name", "is_accepted"),
    [("librdkafka", True), ("a", True), ("-x", False), ("x-", False), ("", False), ("a b", False)],
)
def test_a_clients_software_has_a_name_of_letters_and_digits(
    serving: Any, run: Any, name: str, is_accepted: bool
) -> None:
    from ottla.wire.messages.api_versions import ApiVersionsRequest

    async def scenario() -> None:
        async with serving() as asking:
            request = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
            assert ((await asking.ask(request, 3)).error_code == 0) is is_accepted

    run(scenario())


def test_a_large_announcement_costs_nothing_until_bytes_arrive() -> None:
    assemblers = [FrameAssembler(memoryview(bytearray(64)), 2**31 - 1) for _ in range(200)]
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for assembler in assemblers:
        assert feed(assembler, [pack(">i", 100_000_000) + b"abc"]) == []
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
