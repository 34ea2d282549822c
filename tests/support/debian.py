"""Programs of Debian's that a test needs: installed where the package manager may be used."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.one_at_a_time import one_at_a_time

APT = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-qq", "-y"]


def program_of(package: str, program: str, *folders: str) -> str:
    """The path of a program; the test is skipped where the package cannot be had."""
    places = os.pathsep.join((*folders, os.environ["PATH"], "/usr/sbin"))
    with one_at_a_time(Path(tempfile.gettempdir()) / f"ottla-{package}.lock"):
        if shutil.which(program, path=places) is None:
            _install(package)
    found = shutil.which(program, path=places)
    if found is None:
        pytest.skip(f"{program} is not here, and Debian's {package} could not be installed")
    return found


def _install(package: str) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--no-install-recommends", package]):
        ran = subprocess.run(
            [*APT, *command], env=environment, capture_output=True, check=False, timeout=300
        )
        if ran.returncode:
            return
