"""What handlers are given, as values: a test makes the services it needs, without a node."""

from types import SimpleNamespace
from typing import Any

from ottla.broker.access import Access, Unrestricted
from ottla.broker.cluster_view import ClusterView
from ottla.broker.services import ClusterServices
from ottla.config import Settings
from ottla.metadata.image import Image
from ottla.ports.clock import SYSTEM_CLOCK, Clock

STATIC = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/nowhere",
}
ABSENT: Any = None
"""What a handler never asks for: if it does after all, the test fails."""


def cluster_view(
    image: Image | None = None,
    *,
    node_id: int = 1,
    access: Access | None = None,
    clock: Clock = SYSTEM_CLOCK,
    leader_id: int | None = 1,
    **options: str,
) -> ClusterView:
    static = STATIC | {name.replace("_", "."): value for name, value in options.items()}
    settings = Settings(static | {"node.id": str(node_id)})
    return ClusterView(
        node_id=node_id,
        cluster_id="a-cluster",
        clock=clock,
        access=access or Unrestricted(),
        publisher=SimpleNamespace(image=image or Image()),
        quorum=SimpleNamespace(leader_id=leader_id, kraft_version=0),
        settings_in_force=lambda: settings,
    )


def cluster_services(view: ClusterView | None = None, authority: Any = ABSENT) -> ClusterServices:
    return ClusterServices(cluster=view or cluster_view(), authority=authority)
