"""Ottla answers as Apache Kafka 4.3.1 did when its answers were recorded."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from differential.areas import NAMES, area
from differential.brokers import serving
from differential.comparing import Difference
from differential.recording import Recorded, differs, fingerprint, path_of, recorded
from differential.report import report
from differential.running import run
from differential.waiting import drive

WORKERS = 6
RECORDED = [name for name in NAMES if path_of(area(name)).exists()]


@pytest.mark.parametrize("name", RECORDED)
def test_every_answer_is_the_one_kafka_gave(name: str) -> None:
    one = area(name)
    with serving("ottla", one.settings) as broker:

        def judge(kept: Recorded) -> Difference | None:
            assert fingerprint(one.sequence(kept.seed)) == kept.drawn, (
                f'{name} draws something else than was recorded: make differential ARGS="record'
                f' --area {name}"'
            )
            sequence = one.sequence(kept.seed, len(kept.answers))
            return drive(differs(one, sequence, kept.answers, lambda s, p: run(one, s, broker, p)))

        with ThreadPoolExecutor(WORKERS) as pool:
            found = [each for each in pool.map(judge, recorded(one)) if each is not None]
    assert not found, "\n\n".join(map(report, found[:3]))


@pytest.mark.parametrize("name", NAMES)
def test_an_area_draws_the_same_from_the_same_seed(name: str) -> None:
    one = area(name)
    assert fingerprint(one.sequence(7)) == fingerprint(one.sequence(7))
    assert len(one.sequence(7).moves) >= 15
