"""StreamsGroupHeartbeat: members of a Kafka Streams application join, live and leave.

What its topology needs and nobody made (repartition and changelog topics), the broker makes.
"""

from ottla.broker.features import STREAMS_GROUPS, require
from ottla.broker.group_caller import caller_of
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.services import GroupServices
from ottla.broker.streams_topics import make_topics
from ottla.broker.transport.context import RequestContext
from ottla.controller.naming import check_topic_name
from ottla.errors import KafkaError
from ottla.groups.streams.topics import Status
from ottla.groups.streams.topology import from_request, invalid
from ottla.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)

SHOWN = 3


async def handle(
    request: StreamsGroupHeartbeatRequest, context: RequestContext, services: GroupServices
) -> StreamsGroupHeartbeatResponse:
    require(services.cluster, STREAMS_GROUPS)
    if request.topology is not None:
        _check_names(request.topology)
    response, missing = await services.coordinator.streams_heartbeat(request, caller_of(context))
    if missing:
        failures = await make_topics(missing, services.controller)
        if failures:
            _tell(response, failures)
    return response


def _check_names(topology: Topology) -> None:
    names = from_request(topology).required_topics()
    if internal := sorted(names & INTERNAL_TOPICS.keys()):
        raise invalid(f"{', '.join(internal)}: no application may use topics of Kafka's own.")
    for name in sorted(names):
        try:
            check_topic_name(name)
        except KafkaError as error:
            raise invalid(error.message or "") from None


def _tell(response: StreamsGroupHeartbeatResponse, failures: dict[str, str]) -> None:
    shown = [f"{name} ({reason})" for name, reason in sorted(failures.items())]
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    for status in response.status or ():
        if status.status_code == Status.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; Creation failed: {', '.join(shown[:SHOWN])}{more}."
