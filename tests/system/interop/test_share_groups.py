"""Share groups through Kafka's own tool and Java client."""

import pytest

from support.confluent import create_topic, produce
from support.toolbox import Toolbox

pytestmark = pytest.mark.java

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


def words(line: str) -> list[str]:
    return line.split()


def test_kafka_share_groups_describes_resets_and_deletes(
    toolbox: Toolbox, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"%d" % n for n in range(20)], config={"linger.ms": 0})
    toolbox.scenario("share", bootstrap, {"group.id": name}, topic=name, count=20)

    def run(*args: str) -> list[list[str]]:
        ran = toolbox.run(SHARE_GROUPS, "--bootstrap-server", bootstrap, *args)
        return [words(line) for line in ran.lines]

    assert [name] in [line[:1] for line in run("--list")]
    header, row = run("--describe", "--group", name, "--offsets")[-2:]
    described = dict(zip(header, row, strict=True))
    assert (described["TOPIC"], described["LAG"]) == (name, "0")
    run("--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute")
    again = toolbox.scenario("share", bootstrap, {"group.id": name}, topic=name, count=20)
    assert again == {"accepted": 20, "twice": 10, "more": 0}
    run("--delete", "--group", name)
    assert [name] not in [line[:1] for line in run("--list")]
