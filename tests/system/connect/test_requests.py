"""Answers of a worker of Ottla beside those that Kafka Connect gave to the same requests.

Connect's were recorded by `python -m system.connect`; no Java is needed here.
"""

import json
from pathlib import Path

import pytest

from ottla import Node
from support.confluent import create_topic
from support.connect_workers import LocalWorker
from system.connect.asking import answers, difference
from system.connect.requests import table

RECORDED = Path(__file__).parent / "connect-4.3.1.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("files")
    (folder / "in.txt").write_text("one\ntwo\nthree\n")
    return str(folder)


def test_every_request_is_answered_as_connect_answers_it(folder: str) -> None:
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    with Node() as node:  # where nobody has been: groups and topics are part of the answers
        create_topic(node.bootstrap_servers, "lines")
        with LocalWorker(node.bootstrap_servers) as worker:
            ours = list(answers(worker.url, table(folder), folder))
    assert [request for request, _ in ours] == [request for request, _ in recorded]
    different = [
        f"{request}\n{told}"
        for (request, answer), (_, theirs) in zip(ours, recorded, strict=True)
        if (told := difference(theirs, answer)) is not None
    ]
    assert not different, "\n".join(different)
