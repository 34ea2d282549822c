"""How long a run is begun again."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.file_source import DEFINITIONS as OF_FILES
from ottla.connect.connectors.postgres_cdc.settings import DEFINITIONS as OF_CDC
from ottla.connect.runs.failures import JobFailed, Kind, Patience
from ottla.connect.runs.sink_input import failure_of


def pauses(patience: Patience, count: int) -> list[float | None]:
    """In a row, with the time that they take."""
    now, found = 1000.0, []
    for _ in range(count):
        found.append(patience.pause_s(now, Kind.RETRIABLE))
        now += found[-1] or 0
    return found


def test_what_may_pass_is_not_tried_again_unless_time_is_given() -> None:
    assert pauses(Patience.of({}, OF_FILES), 1) == [None]
    said = {"errors.retry.timeout": "1000"}
    assert pauses(Patience.of(said, OF_FILES), 3) == [0.3, 0.6, None]


def test_a_database_that_is_away_is_waited_for_as_long_as_debezium_does() -> None:
    for_ever = pauses(Patience.of({}, OF_CDC), 100)
    assert None not in for_ever
    assert for_ever[-1] == 10.0
    said = {"errors.max.retries": "2", "retriable.restart.connector.wait.ms": "500"}
    assert pauses(Patience.of(said, OF_CDC), 3) == [0.3, 0.5, None]
    assert pauses(Patience.of({"errors.max.retries": "0"}, OF_CDC), 1) == [None]
    assert pauses(Patience.of({"errors.retry.timeout": "0"}, OF_CDC), 1) == [None]


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._TRANSPORT,
    ],
)
def test_a_sink_waits_for_brokers_that_are_away_and_coordinators_that_move(code: int) -> None:
    failure = failure_of(KafkaException(KafkaError(code)))
    assert isinstance(failure, JobFailed)
    assert failure.kind is Kind.UNREACHABLE


def test_a_sink_waits_for_members_of_its_group_and_says_so() -> None:
    """Connect's, that was killed: its session is not over when another worker begins."""
    failure = failure_of(KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID)))
    assert isinstance(failure, JobFailed)
    assert failure.kind is Kind.UNREACHABLE
    assert "The sink's group has members" in failure.trace


def test_what_a_broker_refuses_for_good_ends_a_sink() -> None:
    refused = failure_of(KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)))
    assert isinstance(refused, ConnectError)
