"""The reference of keys is complete and up to date."""

from pathlib import Path

import pytest

from ottla.connect import plugins
from ottla.connect.connector import Plugin
from ottla.connect.reference import render

PAGE = Path(__file__).parents[3] / "docs/connect-keys.md"


def test_the_page_is_what_the_definitions_say() -> None:
    assert PAGE.read_text() == render(), "run: make docs"


@pytest.mark.parametrize("plugin", plugins.PLUGINS, ids=lambda one: one.name)
def test_every_key_says_what_it_is_for(plugin: Plugin) -> None:
    keys = plugins.module_of(plugin).DEFINITIONS.keys
    assert [one.name for one in keys if len(one.doc) < 5 or one.doc[-1] not in ".…"] == []
