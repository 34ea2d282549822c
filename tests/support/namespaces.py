"""Nodes in network namespaces of their own, on one bridge, and cables between them to be cut.

A cut is one-way and silent: the sender has a wrong hardware address for the receiver, so that what
it sends reaches nobody and nobody says so. The test itself stands on the bridge and reaches all.
"""

import contextlib
import itertools
import subprocess
import uuid
from collections.abc import Iterable, Iterator

import pytest

from support.clusters import Place

NOWHERE = "02:00:00:00:de:ad"


class Cables:
    def __init__(self, nodes: Iterable[int]) -> None:
        """Names and addresses are drawn, so that several runs can stand beside each other."""
        drawn = uuid.uuid4().bytes
        self.name = f"ot{drawn[:3].hex()}"
        self.net = f"10.{drawn[3] % 200 + 20}.{drawn[4]}"
        self.nodes = list(nodes)

    @property
    def places(self) -> dict[int, Place]:
        return {
            node: Place(self.host(node), ("ip", "netns", "exec", self.space(node)))
            for node in self.nodes
        }

    def host(self, node: int) -> str:
        return f"{self.net}.{node}"

    def space(self, node: int) -> str:
        return f"{self.name}-{node}"

    # --- laying and taking away

    def lay(self) -> None:
        ip(f"link add {self.name} type bridge")
        ip(f"addr add {self.net}.254/24 dev {self.name}")
        ip(f"link set {self.name} up")
        for node in self.nodes:
            space, outside = self.space(node), f"{self.name}v{node}"
            ip(f"netns add {space}")
            ip(f"link add {outside} type veth peer name eth0 netns {space}")
            ip(f"link set {outside} master {self.name} up")
            ip(f"-n {space} addr add {self.host(node)}/24 dev eth0")
            ip(f"-n {space} link set eth0 up")
            ip(f"-n {space} link set lo up")

    def remove(self) -> None:
        for node in self.nodes:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                ip(f"netns del {self.space(node)}")
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            ip(f"link del {self.name}")

    # --- cutting

    def cut_one_way(self, source: int, target: int) -> None:
        """Nothing that `source` sends reaches `target` any more."""
        place = f"{self.host(target)} lladdr {NOWHERE}"
        ip(f"-n {self.space(source)} neigh replace {place} dev eth0 nud permanent")

    def cut(self, one: int, other: int) -> None:
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def isolate(self, node: int) -> None:
        """From the other nodes; clients still reach it."""
        for other in self.nodes:
            if other != node:
                self.cut(node, other)

    def heal(self) -> None:
        for source, target in itertools.permutations(self.nodes, 2):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(f"-n {self.space(source)} neigh del {self.host(target)} dev eth0")


def ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)


@contextlib.contextmanager
def network(count: int) -> Iterator[Cables | None]:
    """None where namespaces are not allowed."""
    laid = Cables(range(1, count + 1))
    try:
        try:
            laid.lay()
        except (OSError, subprocess.CalledProcessError):
            yield None
        else:
            yield laid
    finally:
        laid.remove()


@contextlib.contextmanager
def cables(count: int) -> Iterator[Cables]:
    """The same for a test, which is skipped there."""
    with network(count) as laid:
        if laid is None:
            pytest.skip("network namespaces need root and the ip command")
        yield laid
