"""Processes that stop for a while without dying (SIGSTOP): others take over, and they come back."""

import os
import signal
import time

import pytest

from support.clusters import Cluster
from support.load import Load, create_replicated, under_load

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]


@pytest.mark.parametrize("seconds", [5, 20, 60])
@pytest.mark.parametrize("who", ["leader", "controller"])
def test_nothing_is_lost_while_a_node_stands_still(three: Cluster, who: str, seconds: int) -> None:
    create_replicated(three, "orders")

    def stop(load: Load) -> None:
        leader, _ = three.partition("orders")
        victim = leader if who == "leader" else three.active_controller()
        os.kill(three.nodes[victim].pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            if seconds > 15:  # longer than a session and a client's patience
                load.await_progress(seconds)
            time.sleep(max(0.0, began + seconds - time.monotonic()))
        finally:
            os.kill(three.nodes[victim].pid, signal.SIGCONT)
        load.await_progress(60)
        three.await_in_sync("orders", [1, 2, 3])

    under_load(three, "orders", stop)
