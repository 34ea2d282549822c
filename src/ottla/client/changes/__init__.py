"""Changes to a cluster, as values: what one would do is known before it is done.

`look` asks the cluster for what the decision needs, `preview` decides and touches nothing,
`perform` does what the preview shows and nothing else. Whoever offers a change (a command, a page)
shows the preview, asks if that is called for, and performs.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from ottla.client.cluster import Cluster

S = TypeVar("S")
P = TypeVar("P")

Told = Callable[[int, int], None]
"""How far it is: so many steps of so many."""


class Outcome(NamedTuple):
    """What became of it, in sentences; a part that failed does not undo the others."""

    sentences: tuple[str, ...]
    failed: bool = False


class Change(Protocol[S, P]):
    def look(self, cluster: Cluster) -> S: ...

    def preview(self, state: S) -> P:
        """Pure. OttlaError for a change that cannot be made."""

    def perform(self, cluster: Cluster, preview: P, told: Told) -> Outcome:
        """OttlaError, or librdkafka's KafkaException, for one that was refused as a whole."""
