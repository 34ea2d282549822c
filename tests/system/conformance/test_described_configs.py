"""All that DescribeConfigs says of brokers, topics, groups and client metrics, as Kafka says it."""

from pathlib import Path

from support.brokers import Kind, running
from support.described_configs import GOLDEN, IN_THE_FILE, transcript
from support.homes import Home


def test_the_whole_answer_is_apache_kafkas(broker_kind: Kind, tmp_path: Path) -> None:
    home = Home(path=tmp_path / "node", settings=IN_THE_FILE)
    with running(broker_kind, home):
        told = transcript(home)
    assert told.splitlines() == GOLDEN.read_text().splitlines()
