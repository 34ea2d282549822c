"""Kafka Streams 4.3.1 with `exactly_once_v2`, killed and started again: its counts are exact."""

from collections import Counter
from pathlib import Path

import pytest

from support.brokers import BrokerProcess, Kind
from support.confluent import create_topic, wait_until
from support.homes import Home
from support.word_count import (
    LINES_PER_ROUND,
    PARTITIONS,
    SOURCE,
    TARGET,
    Counting,
    Counts,
    compile_into,
    write,
)

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

ROUNDS = 3
PATIENCE_S = 60


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_into(tmp_path_factory.mktemp("word-count"))


def test_a_word_count_that_is_killed_again_and_again_is_exact(
    home: Home, broker_kind: Kind, classes: Path, tmp_path: Path
) -> None:
    broker = BrokerProcess(broker_kind, home)
    counting = None
    expected: Counter[str] = Counter()
    try:
        broker.start()
        for topic in (SOURCE, TARGET):
            create_topic(broker.bootstrap, topic, PARTITIONS)
        counting = Counting(classes, broker.bootstrap, tmp_path)
        counts = Counts(broker.bootstrap)
        for number in range(1, ROUNDS + 1):
            expected += write(broker.bootstrap, number)
            some = expected.total() - LINES_PER_ROUND
            wait_until(lambda some=some: counts.total() >= some, seconds=PATIENCE_S)
            counting.kill()
            if number == ROUNDS - 1:
                broker.kill9()
                broker.start()
            counting.start()
        wait_until(lambda: counts.total() >= expected.total(), seconds=PATIENCE_S)
        assert counts.total() == expected.total()
    except AssertionError:
        print(counting.log.read_text()[-4000:] if counting else broker.tail())
        raise
    finally:
        if counting is not None:
            counting.kill()
        broker.discard()
    assert counts.told == {word: list(range(1, n + 1)) for word, n in expected.items()}
