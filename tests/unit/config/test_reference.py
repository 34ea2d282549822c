"""The reference is complete and up to date."""

from pathlib import Path

from ottla.config import BROKER_OPTIONS, GROUP_OPTIONS, TOPIC_OPTIONS
from ottla.config.reference import render

DOCS = Path(__file__).parents[3] / "docs"
EVERY_OPTION = [
    option
    for options in (BROKER_OPTIONS, TOPIC_OPTIONS, GROUP_OPTIONS)
    for option in options.values()
]


def test_every_option_says_in_a_sentence_what_it_is_for() -> None:
    assert [option.name for option in EVERY_OPTION if not is_a_sentence(option.doc)] == []


def is_a_sentence(text: str) -> bool:
    return len(text) > 15 and text[0].isupper() and text.endswith(".")


def test_the_page_is_what_the_table_says() -> None:
    page = (DOCS / "configuration.md").read_text()
    assert page == render(), "run: python -m ottla.config.reference > docs/configuration.md"


def test_synonyms_are_options_of_the_broker() -> None:
    for option in EVERY_OPTION:
        assert set(option.synonyms) <= BROKER_OPTIONS.keys()
