"""Every API, version and principal: whoever asks is told what Apache Kafka told the same one."""

from pathlib import Path

import pytest

from differential.mutants import patched, source_of
from ottla.broker.api import Listeners, apis
from system.rights import table
from system.rights.asking import answers, prepare, running_with_people
from system.rights.mutants import MUTANTS
from system.rights.people import PEOPLE
from system.rights.questions import QUESTIONS

BEFORE_ANYBODY_IS_KNOWN = {"sasl_handshake", "sasl_authenticate", "api_versions"}
TOKENS = {f"{what}_delegation_token" for what in ("create", "renew", "expire", "describe")}
"""Need a secret key in the file; they have tests of their own."""


@pytest.mark.parametrize(
    "only_ends", [True, pytest.param(False, marks=pytest.mark.long)], ids=["ends", "all versions"]
)
def test_everybody_is_told_what_kafka_told_them(tmp_path: Path, only_ends: bool) -> None:
    with running_with_people("ottla", tmp_path) as place:
        told = answers(place, prepare(place), only_ends=only_ends)
    differences = [str(one) for one in table.compare(table.read(), told)]
    assert differences[:20] == []


def test_the_record_has_every_api_and_everybody() -> None:
    recorded = table.read()
    assert recorded.keys() == {one.name for one in QUESTIONS}
    assert all(people.keys() == {one.name for one in PEOPLE} for people in recorded.values())
    for listener, at_controller in ((Listeners.BROKER, False), (Listeners.CONTROLLER, True)):
        asked = {one.api for one in QUESTIONS if one.at_controller is at_controller}
        left_out = {row.name for row in apis(listener).values()} - asked
        assert left_out <= BEFORE_ANYBODY_IS_KNOWN | TOKENS | {"controller_registration"}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_still_fits_its_source(name: str) -> None:
    mutant = MUTANTS[name].mutant
    assert patched(mutant, source_of(mutant.module)) != source_of(mutant.module)


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_right_that_nobody_asks_for_is_missed(name: str, tmp_path: Path) -> None:
    """A table that finds nothing proves nothing."""
    concerned = tuple(one for one in QUESTIONS if MUTANTS[name].api in ("", one.api))
    kafka = {one.name: table.read()[one.name] for one in concerned}
    program = ("-m", "system.rights.mutants", name)
    with running_with_people("ottla", tmp_path, program) as place:
        told = answers(place, prepare(place), questions=concerned, only_ends=True)
    assert any(table.compare(kafka, told)), f"{name} was not found"
