"""1,500 replicas on each of three nodes: a start and a death are over in seconds."""

import time

import pytest

from support.clusters import Cluster
from support.leaders import await_leaders, create_partitions

pytestmark = [pytest.mark.timeout(180), pytest.mark.long]

PARTITIONS = 1500
START_SECONDS_MAX = 5.0
KILL_SECONDS_MAX = 3.0
PATIENCE_SECONDS = 60.0


def test_all_partitions_are_led_soon_after_a_start_and_soon_after_a_kill(three: Cluster) -> None:
    topics = create_partitions(three, PARTITIONS)
    await_leaders(three, topics, time.perf_counter(), PATIENCE_SECONDS)
    three.stop()
    assert await_leaders(three, topics, three.launch(), PATIENCE_SECONDS) < START_SECONDS_MAX
    for topic in topics:
        three.await_in_sync(topic, [1, 2, 3])
    three.nodes[three.active_controller()].kill9()
    killed = time.perf_counter()
    assert await_leaders(three, topics, killed, PATIENCE_SECONDS) < KILL_SECONDS_MAX
