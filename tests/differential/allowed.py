"""Where an answer may differ from Apache Kafka's: one line each, with its reason.

A line matches the API, the path of the value inside the answer, Kafka's value and ours, as patterns
over their spelling in JSON, and what Kafka's whole answer must contain. Where Kafka never answers,
or says UNKNOWN_SERVER_ERROR to what a client may well ask, our answer may stay.
"""

import re
from typing import NamedTuple

from differential.comparable import Comparable, Leaf, text
from differential.steps import Step
from differential.symbols import told


class Allowed(NamedTuple):
    reason: str
    api: str
    path: str = ".*"
    kafka: str = ".*"
    ottla: str = ".*"
    within: str = ""
    asked: str = ""
    """What the request must contain, a pattern over it as reports tell it."""
    ends: bool = False
    """What comes after it happens in another state: the sequence ends there for the judge."""
    in_a_crowd: bool = False
    """Only where others ask at the same time, as in a campaign."""
    after_a_restart: bool = False
    """Only where the broker was started anew, or killed, before."""
    after: str = ""
    """Only where this API was asked before."""


class Place(NamedTuple):
    """Where in a run a step is asked."""

    in_a_crowd: bool = False
    after_a_restart: bool = False
    asked: tuple[str, ...] = ()
    """The APIs of the steps before."""


ANYWHERE = Place()


UNFORESEEN = "UNKNOWN_SERVER_ERROR"
NOT_SERVED = r"api_keys\[(71|72)\]"
REFUSED = '"[A-Z_]+"'
EITHER = '"(TRANSACTION_ABORTABLE|INVALID_TXN_STATE)"'

ALLOWED = (
    Allowed(
        "Kafka fails, and puts the member back",
        "JoinGroup",
        ".*error_code",
        f'"{UNFORESEEN}"',
        ends=True,
    ),
    Allowed(
        "a topic whose id is zero: Kafka fails unless it is told last",
        "Fetch",
        "error_code|responses|session_id",
        within=UNFORESEEN,
        ends=True,
    ),
    Allowed(
        "… and a session that holds such a topic is answered no more",
        "Fetch",
        "",
        '"no answer"',
        ends=True,
    ),
    Allowed("Kafka: an exception nobody foresaw", ".*", ".*error_code", f'"{UNFORESEEN}"', REFUSED),
    Allowed("… which tells of the log", "Produce", ".*log_start_offset", "0", "null", UNFORESEEN),
    Allowed(
        "Kafka forgets who asks twice: the first is never answered",
        "JoinGroup",
        "",
        '"no answer"',
        ends=True,
    ),
    Allowed(
        "… as is a SyncGroup whose member is removed while it waits",
        "SyncGroup",
        "",
        '"no answer"',
        r'\{"error_code":"UNKNOWN_MEMBER_ID"\}',
        ends=True,
    ),
    Allowed("… and without the id", "JoinGroup", "member_id", "null", within=UNFORESEEN),
    Allowed("telemetry of clients: to come", "ApiVersions", NOT_SERVED, ottla="null"),
    Allowed("a session of 12 goes on in 11, which has no epochs", "Fetch", within="UNSUPPORTED_V"),
    Allowed(
        "who says it has other tasks than it was told is told again: that answer may be lost",
        "StreamsGroupHeartbeat",
        "(active|standby|warmup)_tasks",
        "null",
        r"\[.*\]",
        ends=True,  # it has heard of them, and says next that it has them
    ),
    Allowed(
        "a member with an endpoint while topics are missing: Kafka has no tasks to tell of",
        "StreamsGroupHeartbeat",
        within=UNFORESEEN,
        ends=True,
    ),
    Allowed("… which does not", "Produce", ".*log_start_offset", "null", "0", UNFORESEEN),
    Allowed(
        "static voters are never turned into dynamic ones here",
        "UpdateFeatures",
        "error_code|results",
        r'null|\[\{"feature":"[a-z.]+"\}(,\{"feature":"[a-z.]+"\})*\]',
        r'"INVALID_UPDATE_VERSION"|null',
        asked=r"feature=kraft\.version max_version_level=1\b",
    ),
    Allowed(
        "a name, limit or cursor that Kafka did not foresee; who is answered is told ids",
        "DescribeTopicPartitions",
        within=UNFORESEEN,
        ends=True,
    ),
    Allowed(
        "Kafka verifies several producers by one request, and takes all for as old as the first",
        "Produce|TxnOffsetCommit",
        ".*error_code",
        EITHER,
        EITHER,
        in_a_crowd=True,
    ),
    Allowed(
        "records that were answered for before: Kafka did not foresee it where none is left",
        "ShareAcknowledge",
        within=UNFORESEEN,
        ends=True,
    ),
    Allowed(
        "… also where it comes with a fetch",
        "ShareFetch",
        "error_code|responses|acquisition_lock_timeout_ms",
        within=f'{{"error_code":"{UNFORESEEN}"}}',
        ends=True,
    ),
    Allowed(
        "a group was deleted, and made again: Kafka's queue writes over the state of the new one",
        "Share(Acknowledge|Fetch)",
        r"responses.*error_code",
        "null",
        '"NOT_LEADER_OR_FOLLOWER"',
        after="DeleteGroups",
        ends=True,
    ),
    Allowed(
        "… which tells who leads",
        "Share(Acknowledge|Fetch)",
        r"responses.*current_leader.*|node_endpoints",
        "null",
        after="DeleteGroups",
    ),
    Allowed(
        "Kafka reads what was acquired before for longer than the first fetch may wait",
        "ShareFetch",
        "responses",
        "null",
        after_a_restart=True,
        ends=True,
    ),
)


def is_allowed(step: Step, leaf: Leaf, answer: Comparable) -> bool:
    return line_of(step, leaf, answer) is not None


def line_of(step: Step, leaf: Leaf, answer: Comparable, place: Place = ANYWHERE) -> Allowed | None:
    """The first line that allows it; `answer` is Kafka's whole one."""
    path, kafka, ottla = leaf
    whole = text(answer)
    for line in ALLOWED:
        if (
            (place.in_a_crowd or not line.in_a_crowd)
            and (place.after_a_restart or not line.after_a_restart)
            and (line.after in place.asked or not line.after)
            and re.fullmatch(line.api, step.api)
            and re.fullmatch(line.path, path)
            and re.fullmatch(line.kafka, text(kafka))
            and re.fullmatch(line.ottla, text(ottla))
            and line.within in whole
            and (not line.asked or re.search(line.asked, told(step.request)))
        ):
            return line
    return None
