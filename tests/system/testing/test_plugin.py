"""The fixtures for other people's tests, used as they would."""

import subprocess
import sys
from pathlib import Path

SUITE = """
from confluent_kafka.admin import AdminClient


def test_a_topic_may_be_deleted_by_the_test(ottla_node, ottla_topic):
    admin = AdminClient({"bootstrap.servers": ottla_node.bootstrap_servers})
    admin.delete_topics([ottla_topic])[ottla_topic].result(10)


def test_a_secured_node_has_users(ottla_secure_node):
    alice = ottla_secure_node.client_config("alice")
    assert AdminClient(alice).list_topics(timeout=10).topics == {}
    told = ottla_secure_node.client_config("alice", for_="aiokafka")
    assert told["sasl_plain_username"] == "alice"
"""


def test_a_test_may_delete_its_topic_itself(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    loaded = "ottla.pytest_plugin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", loaded]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
