"""How this project's own tests end: never stuck, and never silent about a second try."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
CONFTEST = """
from support import hang_guard
from support.defects import Defects

hang_guard.GRACE_S = 0.2

def pytest_addoption(parser):
    parser.addoption("--defects")

def pytest_configure(config):
    config.pluginmanager.register(hang_guard.HangGuard(config))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Defects(config.getoption("--defects")))
"""
DEAF = """
import signal, time

def test_it_waits_where_no_signal_is_heard():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)
"""
AT_A_SECOND_TRY = """
tries = []

def test_it_passes_the_second_time():
    tries.append(1)
    assert len(tries) == 2

def test_it_never_passes():
    assert not tries or tries == "never"
    raise AssertionError

def test_it_passes():
    pass
"""


@pytest.fixture(autouse=True)
def conftest(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)


def run_pytest(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_one.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return subprocess.run(
        [*command, *options, str(folder)],
        cwd=folder,
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_what_passed_only_at_a_second_try_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "defects"
    ran = run_pytest(tmp_path, AT_A_SECOND_TRY, "--reruns", "1", "--defects", str(listed))
    _, told = ran.stdout.split("Defects: passed only at a second try")
    assert "test_it_passes_the_second_time" in told.split("=\n")[1]
    assert listed.read_text() == "test_one.py::test_it_passes_the_second_time\n"


def test_what_passed_at_once_is_not_told(tmp_path: Path) -> None:
    ran = run_pytest(tmp_path, "def test_it_passes(): pass", "--reruns", "1")
    assert ran.returncode == 0
    assert "Defects" not in ran.stdout


@pytest.mark.parametrize(
    "options",
    [("--timeout", "0.1"), ("--session-timeout", "1"), ("--timeout", "0.1", "-n", "1")],
    ids=["one test", "the whole run", "one test of a worker"],
)
def test_who_hears_no_signal_shows_its_stack_and_ends(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    ran = run_pytest(tmp_path, DEAF, *options, "--max-worker-restart", "0")
    assert ran.returncode != 0
    assert "test_it_waits_where_no_signal_is_heard" in ran.stderr
