"""The offsets of a sink: those of its consumer group, altered while nobody is in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.client.connection import Connection
from ottla.connect.connector import TopicPartition
from ottla.connect.rest.bodies import bad_request, failed
from ottla.errors import ErrorCode

_WITHIN_S = 15.0
_BUSY = (
    "either because its tasks haven't stopped completely yet or the connector was resumed before "
    "the request to {} its offsets could be successfully completed. If the connector is in a "
    "stopped state, this operation can be safely retried. If it doesn't eventually succeed, the "
    "Connect cluster may need to be restarted to get rid of the zombie sink tasks."
)


def sink_positions(said: Sequence[tuple[Any, Any]]) -> dict[TopicPartition, int | None]:
    """400 in Connect's words for what is no partition or offset of Kafka's."""
    positions: dict[TopicPartition, int | None] = {}
    for partition, offset in said:
        if partition is None:
            raise bad_request("The partition for a sink connector offset cannot be null or missing")
        if not {"kafka_topic", "kafka_partition"} <= partition.keys():
            raise bad_request(
                "The partition for a sink connector offset must contain the keys 'kafka_topic' and "
                "'kafka_partition'"
            )
        if partition["kafka_topic"] is None:
            raise bad_request("Kafka topic names must be valid strings and may not be null")
        if partition["kafka_partition"] is None:
            raise bad_request("Kafka partitions must be valid numbers and may not be null")
        place = TopicPartition(
            str(partition["kafka_topic"]), _number("partition", partition["kafka_partition"])
        )
        if offset is None:
            positions[place] = None
        elif "kafka_offset" not in offset:
            raise bad_request(
                "The offset for a sink connector should either be null or contain the key "
                "'kafka_offset'"
            )
        else:
            positions[place] = _number("offset", offset["kafka_offset"])
    return positions


def _number(what: str, value: Any) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise bad_request(
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{value}'. "
            f"{what.capitalize()} values for sink connectors need to be integers."
        ) from None


class SinkGroup:
    """Called in threads."""

    def __init__(self, connection: Connection, group: str, connector: str) -> None:
        self._connection = connection
        self._group = group
        self._connector = connector

    def positions(self) -> dict[TopicPartition, int]:
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        admin = self._connection.admin()
        asked = [ConsumerGroupTopicPartitions(self._group)]
        try:
            (future,) = admin.list_consumer_group_offsets(asked).values()
            found = future.result(_WITHIN_S)
        except KafkaException as error:
            if _code(error) == ErrorCode.GROUP_ID_NOT_FOUND:
                return {}
            raise failed(
                "Failed to retrieve consumer group offsets for sink connector "
                f"{self._connector}: {error.args[0].str()}"
            ) from None
        return {
            TopicPartition(one.topic, one.partition): one.offset
            for one in found.topic_partitions
            if one.offset >= 0
        }

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """Those without an offset are forgotten: what remains is committed anew."""
        forgotten = [place for place, at in positions.items() if at is None]
        wanted = {place: at for place, at in positions.items() if at is not None}
        if forgotten:
            held = self.positions()
            wanted = {
                place: at for place, at in {**held, **wanted}.items() if place not in forgotten
            }
            self.delete()
        if wanted:
            self._commit(wanted)

    def _commit(self, wanted: Mapping[TopicPartition, int]) -> None:
        import confluent_kafka
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        places = [
            confluent_kafka.TopicPartition(place.topic, place.partition, at)
            for place, at in wanted.items()
        ]
        admin = self._connection.admin()
        asked = [ConsumerGroupTopicPartitions(self._group, places)]
        try:
            (future,) = admin.alter_consumer_group_offsets(asked).values()
            for one in future.result(_WITHIN_S).topic_partitions:
                if one.error is not None:
                    raise failed(
                        "Failed to alter consumer group offsets for connector "
                        f"{self._connector}: {one.error.str()}"
                    )
        except KafkaException as error:
            raise failed(self._sentence("alter", error)) from None

    def delete(self) -> None:
        from confluent_kafka import KafkaException

        admin = self._connection.admin()
        (future,) = admin.delete_consumer_groups([self._group]).values()
        try:
            future.result(_WITHIN_S)
        except KafkaException as error:
            if _code(error) != ErrorCode.GROUP_ID_NOT_FOUND:
                raise failed(self._sentence("reset", error)) from None

    def _sentence(self, doing: str, error: Any) -> str:
        start = f"Failed to {doing} consumer group offsets for connector {self._connector}"
        if _code(error) in (ErrorCode.NON_EMPTY_GROUP, ErrorCode.UNKNOWN_MEMBER_ID):
            return f"{start} {_BUSY.format(doing)}"
        return f"{start}: {error.args[0].str()}"


def _code(error: Any) -> int:
    return int(error.args[0].code())
