"""Topologies against topics: how many partitions internal topics get, and what is refused."""

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.streams.topics import Configured, Status, configure
from ottla.groups.streams.topology import check, from_request
from ottla.wire.messages.streams_group_heartbeat import Subtopology
from support.group_driver import Driver
from support.streams_members import subtopology, topic, topology


def configured(*subtopologies: Subtopology, **topics: int) -> Configured:
    driver = Driver()
    for name, partitions in topics.items():
        driver.make_topic(name, partitions)
    return configure(from_request(topology(*subtopologies)), driver.image)


def problem(outcome: Configured) -> Status:
    assert outcome.problem is not None
    return outcome.problem[0]


def test_a_repartition_topic_is_as_large_as_the_largest_source_before_it() -> None:
    outcome = configured(
        subtopology("0", "a", "b", sinks=["r"]),
        subtopology("1", repartitions=[topic("r")], changelogs=[topic("c")]),
        a=2,
        b=5,
    )
    assert outcome.partitions == {"r": 5, "c": 5}
    assert outcome.task_counts == {"0": 5, "1": 5}
    assert outcome.stateful == {"1"}
    assert [one.name for one in outcome.missing] == ["c", "r"]
    assert problem(outcome) is Status.MISSING_INTERNAL_TOPICS


def test_sizes_flow_through_chains_of_repartition_topics() -> None:
    outcome = configured(
        subtopology("0", repartitions=[topic("r2")]),
        subtopology("1", repartitions=[topic("r1")], sinks=["r2"]),
        subtopology("2", "a", sinks=["r1"]),
        a=7,
    )
    assert outcome.partitions == {"r1": 7, "r2": 7}


def test_a_number_that_is_said_counts() -> None:
    outcome = configured(
        subtopology("0", "a", sinks=["r"]),
        subtopology("1", repartitions=[topic("r", 3)], changelogs=[topic("c")]),
        a=1,
    )
    assert outcome.partitions == {"r": 3, "c": 3}


def test_repartition_topics_follow_the_sources_they_are_joined_with() -> None:
    outcome = configured(
        subtopology("0", "a", sinks=["r"]),
        subtopology("1", "b", repartitions=[topic("r")], together=[([0], [0])]),
        a=2,
        b=6,
    )
    assert outcome.partitions == {"r": 6}
    assert outcome.task_counts["1"] == 6


def test_joined_repartition_topics_are_as_large_as_the_largest() -> None:
    outcome = configured(
        subtopology("0", "a", sinks=["r"]),
        subtopology("1", "b", sinks=["s"]),
        subtopology("2", repartitions=[topic("r"), topic("s")], together=[([], [0, 1])]),
        a=2,
        b=3,
    )
    assert outcome.partitions == {"r": 3, "s": 3}


@pytest.mark.parametrize(
    "joined",
    [
        subtopology("1", "a", "b", together=[([0, 1], [])]),
        subtopology("1", "b", repartitions=[topic("r", 4)], together=[([0], [0])]),
        subtopology("1", repartitions=[topic("r", 4), topic("s", 5)], together=[([], [0, 1])]),
    ],
    ids=["sources", "source-and-repartition", "repartitions"],
)
def test_what_is_joined_must_be_equally_large(joined: Subtopology) -> None:
    outcome = configured(subtopology("0", "a", sinks=["r", "s"]), joined, a=2, b=3)
    assert problem(outcome) is Status.INCORRECTLY_PARTITIONED_TOPICS


def test_an_internal_topic_of_the_wrong_size_is_no_good() -> None:
    outcome = configured(subtopology("0", "a", changelogs=[topic("c")]), a=2, c=3)
    assert problem(outcome) is Status.INCORRECTLY_PARTITIONED_TOPICS
    assert not outcome.missing


def test_missing_sources_are_named() -> None:
    outcome = configured(subtopology("0", "a", "b", "c"), b=1)
    assert outcome.problem == (Status.MISSING_SOURCE_TOPICS, "Source topics a, c are missing.")


def test_with_all_topics_there_it_is_ready() -> None:
    outcome = configured(subtopology("0", "a", changelogs=[topic("c")]), a=2, c=2)
    assert outcome.is_ready
    assert outcome.task_counts == {"0": 2}


@pytest.mark.parametrize(
    "parts",
    [
        (subtopology("0", "a", repartitions=[topic("r")]),),
        (
            subtopology("0", repartitions=[topic("r")], sinks=["s"]),
            subtopology("1", repartitions=[topic("s")], sinks=["r"]),
        ),
        (subtopology("0"),),
    ],
    ids=["nothing-flows-in", "circle", "reads-nothing"],
)
def test_a_topology_without_a_beginning_is_invalid(parts: tuple[Subtopology, ...]) -> None:
    with pytest.raises(KafkaError) as refusal:
        configured(*parts, a=1)
    assert refusal.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


@pytest.mark.parametrize(
    "part",
    [
        subtopology("0", "a", changelogs=[topic("c", 2)]),
        subtopology("0", "a", together=[([1], [])]),
    ],
    ids=["sized-changelog", "unknown-place"],
)
def test_a_topology_that_contradicts_itself_is_invalid(part: Subtopology) -> None:
    with pytest.raises(KafkaError) as refusal:
        check(topology(part))
    assert refusal.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
