"""A broker with all these people, and what it answers each of them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from differential.comparable import Comparable, Comparer
from differential.link import Answer, Link, any_error
from differential.steps import Area
from differential.waiting import drive
from ottla.security import plain
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from support.brokers import OTTLA, Kind, running
from support.homes import Home, free_port
from system.rights.people import (
    MOVER,
    ORDERS,
    OTHER,
    PEOPLE,
    PREFIX,
    READERS,
    SECRET,
    STRANGERS,
    Person,
)
from system.rights.question import Ids, Question
from system.rights.questions import QUESTIONS
from system.rights.requests import built, messages, request_of, response_of

PATIENCE_S = 30.0
AGAIN_S = 0.05
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
MEASURED = frozenset(
    {"total_bytes", "usable_bytes", "partition_size", "offset_lag", "is_future_key", "is_cordoned"}
)
"""Fields that tell of a disk."""
AREA = Area(name="rights", draw=lambda _: [], uncompared=MEASURED, ids=frozenset())
Told = dict[str, dict[str, dict[int, Comparable]]]
"""By question, person and version."""


SELF = "self"
"""Who the broker is to its controller."""


class Place(NamedTuple):
    open: str  # everybody is a super user here
    secured: str
    controller: str


@contextmanager
def running_with_people(
    kind: Kind, path: Path, program: tuple[str, ...] = OTTLA
) -> Iterator[Place]:
    """`program` is what Python runs as Ottla."""
    settings: dict[str, str] = {}
    home = Home(path=path, settings=settings)
    secured = f"127.0.0.1:{free_port()}"
    controller = f"127.0.0.1:{home.controller_port}"
    users = " ".join(f'user_{one.name}="{one.name}"' for one in PEOPLE)
    settings |= {
        "listeners": f"PLAINTEXT://{home.bootstrap},SECURE://{secured},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{home.bootstrap},SECURE://{secured}",
        "listener.security.protocol.map": (
            "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT"
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required username="{SELF}" password="{SELF}" '
            f'user_{SELF}="{SELF}" {users};'
        ),
        "sasl.mechanism.controller.protocol": "PLAIN",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{SELF}",
        "auto.create.topics.enable": "false",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    with running(kind, home, program=program):
        yield Place(home.bootstrap, secured, controller)


def asked(link: Link, request: Message, version: int, response: type[Message]) -> Answer:
    """Until it is no error: a broker that has just begun is still making its coordinators."""
    deadline = time.monotonic() + PATIENCE_S
    while any_error(answer := drive(link.ask(request, version, response, PATIENCE_S))):
        assert time.monotonic() < deadline, f"{request}: {answer}"
        time.sleep(AGAIN_S)
    return answer


def prepare(place: Place) -> Ids:
    """The topics, groups and transactional ids that people ask for; the topics' ids."""
    with closing(Link(place.open, "setup")) as link:
        wanted = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in (ORDERS, SECRET)
        ]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=10_000)
        made = asked(link, request, 7, CreateTopicsResponse)
        assert isinstance(made, CreateTopicsResponse), made
        for kind in ("group", "transaction", "share"):  # the first who asks has its topic made
            asked(link, *question_named(f"find_coordinator {kind}"))
        for group in (READERS, STRANGERS):
            asked(link, *commit_of(group))
        for name in (MOVER, OTHER):
            begin = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
            asked(link, begin, 4, InitProducerIdResponse)
        rules = [
            AclCreation(
                resource_type=rule.kind,
                resource_name=rule.name,
                resource_pattern_type=rule.pattern,
                principal=f"User:{person.name}",
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for person in PEOPLE
            for rule in person.rules
        ]
        asked(link, CreateAclsRequest(creations=rules), 3, CreateAclsResponse)
    return {topic.name: topic.topic_id for topic in made.topics}


def question_named(name: str) -> tuple[Message, int, type[Message]]:
    """As the newest version asks it."""
    one = next(one for one in QUESTIONS if one.name == name)
    request, response = messages(one.api)
    return request_of(one, {}), request.VERSIONS[-1], response


def commit_of(group: str) -> tuple[Message, int, type[Message]]:
    request, response = messages("offset_commit")
    partitions = [{"partition_index": 0, "committed_offset": 5}]
    fields = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "topics": [{"name": name, "partitions": partitions} for name in (ORDERS, SECRET)],
    }
    return built(request, fields), 8, response


@contextmanager
def signed_in(address: str, person: Person) -> Iterator[Link]:
    with closing(Link(address, person.name)) as link:
        sign_in(link, person)
        yield link


def sign_in(link: Link, person: Person) -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    asked(link, handshake, 1, SaslHandshakeResponse)
    proof = plain.message(person.name, person.name)
    asked(link, SaslAuthenticateRequest(auth_bytes=proof), 2, SaslAuthenticateResponse)


def versions_of(address: str) -> Mapping[int, range]:
    with closing(Link(address, "versions")) as link:
        answer = drive(link.ask(ApiVersionsRequest(), 0, ApiVersionsResponse, PATIENCE_S))
    assert isinstance(answer, ApiVersionsResponse), answer
    return {one.api_key: range(one.min_version, one.max_version + 1) for one in answer.api_keys}


def answers(
    place: Place,
    ids: Ids,
    people: tuple[Person, ...] = PEOPLE,
    questions: tuple[Question, ...] = QUESTIONS,
    *,
    only_ends: bool = False,
) -> Told:
    """`only_ends`: of the versions, the oldest and the newest."""
    told: Told = {one.name: {} for one in questions}
    requests = {one.name: request_of(one, ids) for one in questions}
    wait_for_rules(place)
    for address, at_controller in ((place.secured, False), (place.controller, True)):
        served = versions_of(address)
        concerned = [one for one in questions if one.at_controller is at_controller]
        for person in people if concerned else ():
            with signed_in(address, person) as link:
                for one in concerned:
                    versions = [
                        version
                        for version in served.get(messages(one.api)[0].API_KEY, ())
                        if one.versions is None or version in one.versions
                    ]
                    told[one.name][person.name] = {
                        version: answer(link, person, requests[one.name], ids, version)
                        for version in ({*versions[:1], *versions[-1:]} if only_ends else versions)
                    }
    return told


def wait_for_rules(place: Place) -> None:
    """All of them were made by one request: who is allowed everything knows when they hold."""
    everybody = next(one for one in PEOPLE if one.name == "all")
    with signed_in(place.secured, everybody) as link:
        asked(link, *question_named("describe_acls"))


def answer(link: Link, person: Person, request: Message, ids: Ids, version: int) -> Comparable:
    came = drive(link.ask(request, version, response_of(type(request)), PATIENCE_S))
    if isinstance(came, str):
        sign_in(link, person)
        return came
    comparer = Comparer(AREA, PREFIX)
    for name, topic_id in ids.items():
        comparer.know("topic_id", topic_id, name)
    comparer.begin(0, request)
    return comparer.compare(came)
