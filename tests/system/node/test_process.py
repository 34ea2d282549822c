"""A node as a process: how fast it ends, and that silent clients cost the others nothing."""

import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from support.brokers import running
from support.homes import Home
from support.wire import Connection

STOP_S_MAX = 10.0  # 2 s are promised; a machine busy with other tests takes longer
ANSWER_S_MAX = 5.0
IDLE = 1000


def test_an_idle_node_ends_soon_after_sigterm(
    home: Home, record_property: Callable[[str, object], None]
) -> None:
    with running("ottla", home) as broker:
        seconds = broker.stop()
        assert broker.process is not None
        assert broker.process.returncode == 0, broker.tail()
    record_property("seconds", round(seconds, 3))
    assert seconds < STOP_S_MAX


def test_a_thousand_idle_connections_leave_another_client_served(
    home: Home, record_property: Callable[[str, object], None]
) -> None:
    with running("ottla", home) as broker, ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, enough_files(IDLE + 200))
        host, _, port = broker.bootstrap.rpartition(":")
        idle = [
            opened.enter_context(socket.create_connection((host, int(port)), 10))
            for _ in range(IDLE)
        ]
        began = time.perf_counter()
        with Connection(broker.bootstrap) as client:
            assert len(client.ask("metadata", 1, topics=[]).brokers) == 1
            assert client.new_producer_id() >= 0
        seconds = time.perf_counter() - began
        record_property("seconds", round(seconds, 3))
        assert seconds < ANSWER_S_MAX
        for one in idle:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):  # nothing came: neither bytes nor an end
                one.recv(1)


def enough_files(count: int) -> tuple[int, int]:
    """Room for so many descriptors in this process; the limits that held before."""
    soft, hard = before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"a process may open no more than {hard} files here")
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return before
