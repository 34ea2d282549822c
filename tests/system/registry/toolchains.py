"""Programs in Go and packages for Node, fetched and built where these are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def go_program_of(source: Path, folder: Path) -> Path:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    for name in ("main.go", "go.mod"):
        shutil.copy(source / name, folder)
    for command in (("mod", "tidy"), ("build", "-o", "program", ".")):
        subprocess.run(["go", *command], cwd=folder, check=True, capture_output=True)
    return folder / "program"


def node_modules_in(folder: Path) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    shutil.copy(HERE / "node" / "package.json", folder)
    subprocess.run(["npm", "install", "--silent", "--prefer-offline"], cwd=folder, check=True)
    return folder / "node_modules"
