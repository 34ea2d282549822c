"""The page about Connect: its blocks run, section by section."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ottla.testing.connect import Connect
from support.connect_tool import ConnectTool
from support.databases import PASSWORD, USER
from support.jars import PROJECT
from support.opensearch import running_opensearch
from support.postgres import Postgres, running_postgres
from system.connect.original import Original
from system.connect.requests import SOURCE

PAGE = (PROJECT / "docs/connect.md").read_text()
WITHIN_S = 90.0
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")


class Block(NamedTuple):
    kind: str
    text: str


def blocks(title: str) -> list[Block]:
    """Of a section, those that are run or compared."""
    section = re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [Block(*one) for one in found if one[0] != "console"]


class Shell:
    """Runs blocks in a folder; what a block says, the next may show."""

    def __init__(self, folder: Path, **env: str) -> None:
        self._folder = folder
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._env = {**os.environ, "PATH": path, **env}

    def run(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", text],
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def until(self, text: str, shown: Block) -> None:
        """Records travel for a moment."""
        deadline = time.monotonic() + WITHIN_S
        while not _is_same(said := self.run(text), shown):
            assert time.monotonic() < deadline, f"{text}\n{said}"
            time.sleep(0.2)


def _is_same(said: str, shown: Block) -> bool:
    if shown.kind == "json":
        return bool(json.loads(said) == json.loads(shown.text))
    return said == shown.text


def walk(found: list[Block], shell: Shell, postgres: Postgres | None = None) -> int:
    """A block that is followed by what it says is run until it says that."""
    ran = 0
    following = [*found[1:], Block("", "")]
    for block, after in zip(found, following, strict=True):
        if block.kind == "sql":
            assert postgres is not None
            postgres.run(*(one for one in block.text.split(";") if one.strip()))
        elif block.kind == "sh" and after.kind in ("json", "text"):
            shell.until(block.text, after)
        elif block.kind == "sh":
            shell.run(block.text)
        else:
            continue
        ran += 1
    return ran


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def placed(found: list[Block], postgres: Postgres, **places: str) -> list[Block]:
    """The page's addresses are where the tests' own servers are."""
    own = {
        '"5432"': f'"{postgres.port}"',
        '"database.dbname": "shop"': f'"database.dbname": "{postgres.name}"',
        '"database.user": "shop"': f'"database.user": "{USER}"',
        **places,
    }
    assert f'"database.password": "{PASSWORD}"' in PAGE
    for said, real in own.items():
        assert any(said in one.text for one in found), said
        found = [Block(one.kind, one.text.replace(said, real)) for one in found]
    return found


SEARCH = "PostgreSQL to search in ten minutes"


def test_the_table_of_the_page_is_shown_by_preview(postgres: Postgres, tmp_path: Path) -> None:
    """The first half of it, which needs neither a worker nor Java."""
    database = postgres.database()
    found = placed(blocks(SEARCH), database)
    assert walk(found[:3], Shell(tmp_path), database) == 2


@pytest.mark.long
@pytest.mark.java
@needs_java
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.timeout(400)
def test_rows_become_documents_as_the_page_says(
    postgres: Postgres, bootstrap: str, tmp_path: Path
) -> None:
    database = postgres.database()
    (tmp_path / "search").mkdir()
    with (
        running_opensearch(tmp_path / "search") as search,
        Connect(bootstrap, settings=own_topics()) as connect,
    ):
        found = placed(blocks(SEARCH), database, **{"http://127.0.0.1:9200": search.url})
        shell = Shell(tmp_path, OTTLA_CONNECT=connect.url, OTTLA_BOOTSTRAP=bootstrap)
        assert walk(found, shell, database) == 6


def own_topics() -> Mapping[str, str]:
    named = {f"{one}.storage.topic": f"{one}-of-the-page" for one in ("config", "offset", "status")}
    return {"group.id": "connect-of-the-page", **named}


OWN = "A connector of one's own"


def test_a_connector_of_one_s_own_is_found_when_it_is_installed(tmp_path: Path) -> None:
    """As pip would put it there: the module, and the entry point."""
    source, entry, *rest = blocks(OWN)
    module = tmp_path / "site/my_package/years.py"
    module.parent.mkdir(parents=True)
    module.write_text(source.text)
    (named,) = re.findall(r'^leap-years = "(.*)"$', entry.text, re.MULTILINE)
    about = tmp_path / "site/my_package-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[ottla.connectors]\nleap-years = {named}\n")
    assert walk(rest, Shell(tmp_path, PYTHONPATH=str(tmp_path / "site"))) == 1


@pytest.mark.long
@pytest.mark.java
@needs_java
@pytest.mark.timeout(300)
def test_what_ran_in_kafka_connect_goes_on_here(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("1\n2\n3\n")
    (look,) = blocks("Moving in and out")
    config = (f"connector.class={SOURCE}", f"file={file}", f"topic=moved-{tmp_path.name}")
    with Original(bootstrap) as theirs:
        tool = ConnectTool(theirs.url)
        tool("add", "lines", *(word for one in config for word in ("--set", one)))
        shell = Shell(tmp_path, OTTLA_CONNECT=theirs.url)
        until_said(shell, look, '"position":6')
    said = {name: one for name, one in theirs.options.items() if name != "bootstrap.servers"}
    said.pop("listeners")
    with Connect(bootstrap, settings=said) as ours:
        shell = Shell(tmp_path, OTTLA_CONNECT=ours.url)
        until_said(shell, look, '"position":6')
        with file.open("a") as lines:
            lines.write("4\n")
        until_said(shell, look, '"position":8')


def until_said(shell: Shell, block: Block, text: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while text not in (said := shell.run(block.text)) or "RUNNING\t1 RUNNING" not in said:
        assert time.monotonic() < deadline, said
        time.sleep(0.2)
