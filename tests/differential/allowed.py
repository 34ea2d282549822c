"""Where an answer may differ from Apache Kafka's: one line each, with its reason.

A line matches the API, the path of the value inside the answer, Kafka's value and ours, as patterns
over their spelling in JSON, and what Kafka's whole answer must contain. Where Kafka never answers,
or says UNKNOWN_SERVER_ERROR to what a client may well ask, our answer may stay.
"""

import re
from typing import NamedTuple

from differential.comparable import Comparable, Leaf, text


class Allowed(NamedTuple):
    reason: str
    api: str
    path: str = ".*"
    kafka: str = ".*"
    ottla: str = ".*"
    within: str = ""


UNFORESEEN = "UNKNOWN_SERVER_ERROR"
NOT_SERVED = r"api_keys\[(17|29|30|31|36|38|39|40|41|48|49|50|51|71|72)\]"
REFUSED = '"[A-Z_]+"'

ALLOWED = (
    Allowed("Kafka: an exception nobody foresaw", ".*", ".*error_code", f'"{UNFORESEEN}"', REFUSED),
    Allowed("… which tells of the log", "Produce", ".*log_start_offset", "0", "null", UNFORESEEN),
    Allowed(
        "Kafka forgets who asks twice: the first is never answered", "JoinGroup", "", '"no answer"'
    ),
    Allowed("… and without the id", "JoinGroup", "member_id", "null", within=UNFORESEEN),
    Allowed("security, quotas, telemetry: to come", "ApiVersions", NOT_SERVED, ottla="null"),
    Allowed("a topic whose id is zero", "Fetch", "responses", "null", within=UNFORESEEN),
    Allowed(
        "… fails when it is not told last", "Fetch", "error_code", ottla="null", within=UNFORESEEN
    ),
    Allowed("a session of 12 goes on in 11, which has no epochs", "Fetch", within="UNSUPPORTED_V"),
    Allowed(
        "who says it has other tasks than it was told is told again: that answer may be lost",
        "StreamsGroupHeartbeat",
        "(active|standby|warmup)_tasks",
        "null",
        r"\[.*\]",
    ),
    Allowed(
        "a member with an endpoint while topics are missing: Kafka has no tasks to tell of",
        "StreamsGroupHeartbeat",
        within=UNFORESEEN,
    ),
    Allowed("… which does not", "Produce", ".*log_start_offset", "null", "0", UNFORESEEN),
    Allowed(
        "static voters are never turned into dynamic ones here",
        "UpdateFeatures",
        ".*error_code",
        "null",
        '"INVALID_UPDATE_VERSION"',
    ),
    Allowed("a limit or cursor below zero", "DescribeTopicPartitions", within=UNFORESEEN),
)


def is_allowed(api: str, leaf: Leaf, answer: Comparable) -> bool:
    """`answer` is Kafka's whole one."""
    path, kafka, ottla = leaf
    whole = text(answer)
    return any(
        re.fullmatch(line.api, api)
        and re.fullmatch(line.path, path)
        and re.fullmatch(line.kafka, text(kafka))
        and re.fullmatch(line.ottla, text(ottla))
        and line.within in whole
        for line in ALLOWED
    )
