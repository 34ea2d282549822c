"""A streams group while two brokers take turns: its members and tasks stay as they are."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers import BrokerProcess, Kind
from support.confluent import create_topic, wait_until
from support.homes import Home
from support.wire import Connection
from support.word_count import (
    APPLICATION,
    PARTITIONS,
    SOURCE,
    TARGET,
    Counting,
    Counts,
    compile_into,
    write,
)

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

PATIENCE_S = 90


@pytest.fixture
def shared_home(tmp_path: Path) -> Home:
    """Sessions outlive the change of hands."""
    patient = {"group.streams.session.timeout.ms": "45000"}
    return Home(path=tmp_path / "node", settings=patient)


def group(bootstrap: str) -> tuple[str, int, dict[str, tuple[int, tuple[tuple[str, ...], ...]]]]:
    """State, epoch, and each member's epoch and active tasks."""
    with Connection(bootstrap) as connection:
        asked = {"group_ids": [APPLICATION], "include_authorized_operations": False}
        (shown,) = connection.ask("streams_group_describe", 0, **asked).groups
    members = {
        member.member_id: (
            member.member_epoch,
            tuple((t.subtopology_id, *t.partitions) for t in member.assignment.active_tasks),
        )
        for member in shown.members
    }
    return shown.group_state, shown.group_epoch, members


@pytest.mark.parametrize("kafka_first", [False, True], ids=["from-ottla", "from-kafka"])
def test_members_keep_their_tasks_and_the_counts_stay_exact(
    turn: Callable[[Kind], BrokerProcess],
    broker_kind: Kind,
    other_kind: Kind,
    kafka_first: bool,
    tmp_path: Path,
) -> None:
    first, second = (other_kind, broker_kind) if kafka_first else (broker_kind, other_kind)
    classes = compile_into(tmp_path)
    broker = turn(first)
    for topic in (SOURCE, TARGET):
        create_topic(broker.bootstrap, topic, PARTITIONS)
    app = Counting(classes, broker.bootstrap, tmp_path / "app", "streams")
    counts, expected = Counts(broker.bootstrap), Counter[str]()
    before = None
    try:
        for number, kind in enumerate((first, second, first), start=1):
            if number > 1:
                broker = turn(kind)
            expected += write(broker.bootstrap, number)
            total, at = expected.total(), broker.bootstrap
            wait_until(lambda total=total: counts.total() >= total, seconds=PATIENCE_S)
            wait_until(lambda at=at: group(at)[0] == "Stable", seconds=PATIENCE_S)
            shown = group(at)
            assert before in (None, shown), "nobody rebalances because a broker was exchanged"
            before = shown
            time.sleep(0.5)  # some heartbeats on
            broker.stop()
    except AssertionError:
        print(app.log.read_text()[-4000:], broker.tail())
        raise
    finally:
        app.kill()
    assert counts.told == {word: list(range(1, n + 1)) for word, n in expected.items()}
