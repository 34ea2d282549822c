"""What the pages say exists: files they link to, names and versions they give."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from ottla.broker.api import Listeners, apis

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PATH = re.compile(r"`((?:tests|src/ottla|bench|tools|docs|examples|deploy)/[\w./-]+)")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """As the usual hosts make them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_is_there(page: Path) -> None:
    for name in PATH.findall(page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}, which is not there"


def test_the_names_in_the_glossary_exist() -> None:
    page = (ROOT / "docs/from-kafka.md").read_text()
    names = re.findall(r"^\| `([a-z_.]+)(?:\.([A-Z]\w+))?` \|", page, re.MULTILINE)
    assert len(names) > 15
    for module, name in names:
        found = import_module(f"ottla.{module}")
        assert not name or hasattr(found, name), f"{module} has no {name}"


@pytest.mark.parametrize(
    ("begin", "listener"),
    [("Clients:", Listeners.BROKER), ("Only between nodes:", Listeners.CONTROLLER)],
)
def test_the_page_names_each_api_at_its_versions(begin: str, listener: Listeners) -> None:
    page = (ROOT / "docs/from-kafka.md").read_text()
    told = page.split(begin, 1)[1].strip().split("\n\n", 1)[0]
    of_clients = {api.name for api in apis(Listeners.BROKER).values()}
    served = {
        "".join(word.capitalize() for word in api.name.split("_")): api.versions
        for api in apis(listener).values()
        if listener is Listeners.BROKER
        or (api.listeners is Listeners.CONTROLLER and api.name not in of_clients)
    }
    found = dict(re.findall(r"(\w+)\s+(\d+-\d+)", told))
    assert found == {name: f"{each[0]}-{each[-1]}" for name, each in served.items()}
