"""Changes of a broker's settings as that broker judges them, before the controller is asked.

Only the broker itself knows its file, and with it what a change would lead to. What is left the
controller checks once more, and keeps.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from ottla.broker.api import Listeners
from ottla.broker.cluster_view import ClusterView
from ottla.broker.transport.context import RequestContext
from ottla.config import BROKER_OPTIONS, Settings
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType

GRADUAL = tuple(name for name, option in BROKER_OPTIONS.items() if option.gradual)
"""Numbers of threads: a change may at most double or halve them."""


class Resource(Protocol):
    resource_type: int
    resource_name: str


R = TypeVar("R", bound=Resource)
After = Callable[[R, Mapping[str, str]], Mapping[str, str]]
"""All that would be set for the resource, from what is set."""


def refusals(
    resources: Sequence[R], after: After[R], context: RequestContext, cluster: ClusterView
) -> dict[int, KafkaError]:
    """By their places among the resources. A controller is asked directly about any broker."""
    if context.peer.listener_kind is Listeners.CONTROLLER:
        return {}
    refused = {}
    named = Counter((one.resource_type, one.resource_name) for one in resources)
    for at, one in enumerate(resources):
        if named[one.resource_type, one.resource_name] > 1:
            refused[at] = KafkaError(ErrorCode.INVALID_REQUEST, "Each resource may be named once.")
        elif one.resource_type == ConfigResourceType.BROKER:
            present = cluster.image.config(ConfigResourceType.BROKER, one.resource_name)
            try:
                _check_name(one.resource_name, cluster)
                _check(one.resource_name, after(one, present), cluster)
            except KafkaError as error:
                refused[at] = error
    return refused


def _check_name(name: str, cluster: ClusterView) -> None:
    if name not in ("", str(cluster.node_id)):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"This is broker {cluster.node_id}: ask broker {name} itself.",
        )


def _check(name: str, after: Mapping[str, str], view: ClusterView) -> None:
    cluster = view.image.config(*CLUSTER_DEFAULTS)
    own = view.image.config(ConfigResourceType.BROKER, str(view.node_id))
    present = view.settings.with_dynamic(cluster, own)
    then = (
        view.settings.with_dynamic(cluster, after)
        if name
        else view.settings.with_dynamic(after, own)
    )
    _check_threads(present, then)
    _check_certificates(present, then)


def _check_certificates(present: Settings, after: Settings) -> None:
    """New stores of a listener must do, as they would at a start, and be for the same name."""
    for listener in present.topology.listeners:
        if not listener.protocol.endswith("SSL"):
            continue
        from ottla.security.renewal import check_change
        from ottla.security.tls import tls_options

        sasl = listener.protocol.startswith("SASL")
        before, then = (
            tls_options(one.given, listener.name, sasl=sasl) for one in (present, after)
        )
        try:
            check_change(before, then)
        except OttlaError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _check_threads(present: Settings, after: Settings) -> None:
    for name in GRADUAL:
        now, then = present.int(name), _number(after, name)
        if then is not None and not now // 2 <= then <= now * 2:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{name} is {now}: it may at most be doubled or halved, not become {then}.",
            )


def _number(settings: Settings, name: str) -> int | None:
    """None where it is no number at all, which the controller will say."""
    try:
        return settings.int(name)
    except ValueError:
        return None
