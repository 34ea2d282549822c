"""ElectLeaders: back to the preferred replica, or unclean where nothing else is left."""

from ottla.errors import KafkaError
from ottla.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def refuse(request: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    """The old version has no place for an error but in the partitions."""
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=one.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index, error_code=error.code, error_message=error.message
                    )
                    for index in one.partitions
                ],
            )
            for one in request.topic_partitions or ()
        ],
    )
