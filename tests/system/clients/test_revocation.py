"""Whoever loses a password loses the connections made with it (Apache Kafka keeps them)."""

from pathlib import Path

import pytest

from support.confluent import wait_until
from support.secured import running_secured
from support.wire import Connection

pytestmark = pytest.mark.timeout(60)


def is_closed(connection: Connection) -> bool:
    try:
        connection.ask("api_versions", 3)
    except OSError:
        return True
    return False


def test_a_changed_password_closes_its_connections_and_no_others(tmp_path: Path) -> None:
    with (
        running_secured("ottla", tmp_path / "node") as secured,
        secured.by("alice") as alice,
        secured.by("bob") as bob,
    ):
        assert not is_closed(alice)
        secured.add_user("alice", "another secret")
        wait_until(lambda: is_closed(alice))
        assert not is_closed(bob)
        with secured.by("alice", "another secret") as again:
            assert not is_closed(again)
