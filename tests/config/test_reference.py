"""The reference is complete and up to date."""

from pathlib import Path

import pytest

from ottla.config import BROKER_OPTIONS, GROUP_OPTIONS, TOPIC_OPTIONS, Option
from ottla.config.reference import render

DOCS = Path(__file__).parents[2] / "docs"
EVERY_OPTION = [
    option
    for options in (BROKER_OPTIONS, TOPIC_OPTIONS, GROUP_OPTIONS)
    for option in options.values()
]


@pytest.mark.parametrize("option", EVERY_OPTION, ids=lambda option: option.name)
def test_every_option_says_in_a_sentence_what_it_is_for(option: Option) -> None:
    assert option.doc[0].isupper()
    assert option.doc.endswith(".")
    assert len(option.doc) > 15


def test_the_page_is_what_the_table_says() -> None:
    page = (DOCS / "configuration.md").read_text()
    assert page == render(), "run: python -m ottla.config.reference > docs/configuration.md"


def test_synonyms_are_options_of_the_broker() -> None:
    for option in EVERY_OPTION:
        assert set(option.synonyms) <= BROKER_OPTIONS.keys()
