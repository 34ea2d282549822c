"""`ottla demo`: what `make run` shows."""

import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("secure", [False, True])
def test_events_flow_through_the_group_until_the_time_is_over(secure: bool) -> None:
    more = ["--secure"] if secure else []
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "demo", "--seconds", "5", "--rate", "50", *more],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *events, last = done.stdout.splitlines()
    assert first.startswith("broker at 127.0.0.1:")
    assert ("by SASL_SSL, client files in" in first) == secure
    assert len(events) > 20
    assert {event.split()[0] for event in events} == {"reader-1", "reader-2"}
    assert last.endswith("The broker has stopped.")


def heed_interrupts() -> None:
    """As in a terminal, even where the tests run in the background, which ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_stops_everything_cleanly() -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "ottla", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=heed_interrupts,
    )
    assert demo.stdout is not None
    assert demo.stdout.readline().startswith("broker at")
    time.sleep(0.5)  # somewhere in the middle of it
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
    said, complained = demo.communicate(timeout=60)
    assert demo.returncode == 0, complained
    assert said.splitlines()[-1].endswith("The broker has stopped.")
