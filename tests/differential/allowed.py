"""Where an answer may differ from Apache Kafka's: one line each, with its reason.

A line matches the API, the path of the value inside the answer, Kafka's value and ours, as patterns
over their spelling in JSON (`.*` is anything). Where Kafka never answers, or says
UNKNOWN_SERVER_ERROR to a request that a client may well send, our answer may stay.
"""

import re
from typing import NamedTuple

from differential.comparable import Leaf, text


class Allowed(NamedTuple):
    api: str
    path: str
    kafka: str
    ottla: str
    reason: str


ALLOWED: tuple[Allowed, ...] = (
    Allowed(
        ".*",
        ".*error_code",
        '"UNKNOWN_SERVER_ERROR"',
        '"[A-Z_]+"',
        "an exception nobody foresaw there",
    ),
    Allowed("Produce", ".*log_start_offset", "0", "null", "with UNKNOWN_SERVER_ERROR, see above"),
)


def is_allowed(api: str, leaf: Leaf) -> bool:
    path, kafka, ottla = leaf
    return any(
        re.fullmatch(line.api, api)
        and re.fullmatch(line.path, path)
        and re.fullmatch(line.kafka, text(kafka))
        and re.fullmatch(line.ottla, text(ottla))
        for line in ALLOWED
    )
