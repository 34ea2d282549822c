"""The page about the registry: its blocks run, its options are all of them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ottla.registry.settings import TABLE
from support.jars import PROJECT
from system.registry.processes import Registry

PAGE = (PROJECT / "docs/registry.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_does_what_the_page_says(registry: Registry, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    names: dict[str, Any] = {}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = ""
    ran = 0
    for kind, text in BLOCK.findall(PAGE.replace("http://127.0.0.1:8081", registry.url)):
        match kind:
            case "python":
                exec(compile(text, "docs/registry.md", "exec"), names)
            case "sh":
                said = subprocess.run(
                    ["sh", "-e", "-c", text],
                    check=True,
                    cwd=tmp_path,
                    env={**os.environ, "PATH": path},
                    stdout=subprocess.PIPE,
                    text=True,
                    timeout=60,
                ).stdout
            case "json":
                assert json.loads(said) == json.loads(text)
            case _:
                continue
        ran += 1
    assert ran >= 12


def test_the_page_names_each_option() -> None:
    told = re.findall(r"^\| `([a-z.]+)` \| [^|]*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert told == [(one.name, one.doc) for one in TABLE]
