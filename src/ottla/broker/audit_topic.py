"""Events of the audit trail in a topic: partition 0, by its leader, written as nodes write."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ottla.ids import ZERO_UUID
from ottla.ports.network import LinkLost
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from ottla.wire.record_batch import NewRecord, build_batch

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView
    from ottla.replication.peers import Peers

log = logging.getLogger(__name__)

RECORDS_MAX = 500  # in a batch: far below message.max.bytes
VERSION = 12  # the last one that names topics
ALL_REPLICAS = -1
WRITE_S_MAX = 10.0


class AuditTopic:
    def __init__(
        self,
        name: str,
        cluster: "ClusterView",
        peers: "Peers",
        make: Callable[[Iterable[str]], None],
    ) -> None:
        """`make` begins to make a topic that is not there."""
        self._name = name
        self._cluster = cluster
        self._peers = peers
        self._make = make

    async def write(self, lines: Sequence[bytes]) -> int:
        """How many of them are written, from the first on."""
        written = 0
        while written < len(lines):
            part = lines[written : written + RECORDS_MAX]
            if not await self._write(part):
                break
            written += len(part)
        return written

    async def _write(self, lines: Sequence[bytes]) -> bool:
        state = self._cluster.partition_state(self._name, ZERO_UUID, 0)
        if state is None:
            self._make([self._name])
            return False
        now_ms = self._cluster.clock.wall_ms()
        batch = build_batch([NewRecord(now_ms, None, line, ()) for line in lines])
        topic = TopicProduceData(
            name=self._name, partition_data=[PartitionProduceData(index=0, records=batch)]
        )
        request = ProduceRequest(
            acks=ALL_REPLICAS, timeout_ms=int(WRITE_S_MAX * 1000), topic_data=[topic]
        )
        try:
            answer = await self._peers.ask(
                state.leader, request, VERSION, ProduceResponse, WRITE_S_MAX
            )
        except (LinkLost, MalformedMessage) as error:
            log.debug("the audit trail waits for %s: %s", self._name, error)
            return False
        code = answer.responses[0].partition_responses[0].error_code
        if code:
            log.debug("the audit trail waits for %s: error %d", self._name, code)
        return not code
