"""Rights to records. Produce and Fetch ask in their handlers."""

from typing import Any

from ottla.broker.access import CLUSTER, Operation, Resource
from ottla.broker.rights.guard import After, Asker, Guard, Refuse, each
from ottla.wire.message import Message

_DESCRIBED = each("topics", Operation.DESCRIBE, Resource.TOPIC, answers="topics", name="topic")


def _offset_for_leader_epoch(request: Any, asker: Asker, refuse: Refuse) -> After | Message | None:
    """Replicas ask for it, and so do consumers."""
    if asker.would(Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER):
        return None
    return _DESCRIBED(request, asker, refuse)


GUARDS: dict[str, Guard] = {
    "list_offsets": each(
        "topics", Operation.DESCRIBE, Resource.TOPIC, answers="topics", name="name"
    ),
    "delete_records": each(
        "topics", Operation.DELETE, Resource.TOPIC, answers="topics", name="name"
    ),
    "offset_for_leader_epoch": _offset_for_leader_epoch,
    "describe_producers": each(
        "topics", Operation.READ, Resource.TOPIC, answers="topics", name="name"
    ),
}
