"""What goes wrong in a run: nodes die and stand still, cables are cut, a disk lies or is full.

Each strike is over when its method returns; the run waits until all is in sync again. The disk that
fails is always the same one of three: two that lie about one batch would be a loss indeed.
"""

import os
import random
import signal
import time
from collections.abc import Callable

from support.clusters import Cluster
from support.disks import flip_a_bit, full
from support.namespaces import Cables

BAD_DISK = 3
KINDS = ("kill", "stop", "cut", "disk")


class Strikes:
    def __init__(
        self, cluster: Cluster, topic: str, partitions: int, rng: random.Random, pause_s_max: float
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partitions = partitions
        self._rng = rng
        self._pause_s_max = pause_s_max
        self._possible: list[Callable[[], str]] = []

    def arm(self, kinds: tuple[str, ...], cables: Cables | None, *, small_disk: bool) -> None:
        """Choose among these from now on, as far as this machine allows them."""
        self._cables = cables
        if "kill" in kinds:
            self._possible += [self.kill] * 3
        if "stop" in kinds:
            self._possible += [self.stop]
        if "cut" in kinds and cables is not None:
            self._possible += [self.isolate, self.cut_one_way]
        if "disk" in kinds:
            self._possible += [self.flip_while_running, self.flip_in_a_crash]
            self._possible += [self.fill] if small_disk else []

    def strike(self) -> str:
        """One fault and its end; what it was."""
        return self._rng.choice(self._possible)()

    # --- faults

    def kill(self) -> str:
        role, victim = self._choose()
        node = self._cluster.nodes[victim]
        node.kill9()
        time.sleep(self._rng.choice((0.0, 2.0)) * self._rng.random())
        node.start()
        return f"kill -9 {role}"

    def stop(self) -> str:
        role, victim = self._choose()
        pid = self._cluster.nodes[victim].pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1 + (self._pause_s_max - 1) * self._rng.random())
        os.kill(pid, signal.SIGCONT)
        return f"SIGSTOP {role}"

    def isolate(self) -> str:
        role, victim = self._choose()
        assert self._cables is not None
        self._cables.isolate(victim)
        self._wait_and_heal()
        return f"cut off {role}"

    def cut_one_way(self) -> str:
        """What one sends to another, or to both, is lost."""
        role, victim = self._choose()
        assert self._cables is not None
        others = [node for node in self._cluster.nodes if node != victim]
        hears = self._rng.random() < 0.5
        for other in self._rng.sample(others, self._rng.randint(1, 2)):
            self._cables.cut_one_way(*((victim, other) if hears else (other, victim)))
        self._wait_and_heal()
        return f"{role} is not heard" if hears else f"{role} hears nobody"

    def fill(self) -> str:
        node = self._cluster.nodes[BAD_DISK]
        with full(node.home.path):
            time.sleep(2 + 6 * self._rng.random())
        if node not in self._cluster.alive():  # without its metadata log a node ends
            node.start()
        return "disk full"

    def flip_while_running(self) -> str:
        self._flip()
        return "bit flipped"

    def flip_in_a_crash(self) -> str:
        node = self._cluster.nodes[BAD_DISK]
        node.kill9()
        self._flip()
        node.start()
        return "bit flipped in a crash"

    # --- inside

    def _flip(self) -> None:
        index = self._rng.randrange(self._partitions)
        folder = self._cluster.nodes[BAD_DISK].home.data[0] / f"{self._topic}-{index}"
        for path in folder.glob("*.log"):
            flip_a_bit(path, self._rng.random())

    def _wait_and_heal(self) -> None:
        assert self._cables is not None
        time.sleep(2 + (self._pause_s_max + 5) * self._rng.random())
        self._cables.heal()

    def _choose(self) -> tuple[str, int]:
        """Somebody who matters, and as whom."""
        cluster, rng = self._cluster, self._rng
        role = rng.choice(("leader", "controller", "coordinator", "anybody"))
        node = -1
        match role:
            case "leader":
                node, _ = cluster.partition(self._topic, rng.randrange(self._partitions))
            case "controller":
                node = cluster.active_controller()
            case "coordinator":
                node, _ = cluster.partition("__transaction_state", rng.randrange(4))
        return (role, node) if node > 0 else ("anybody", rng.choice(sorted(cluster.nodes)))
