"""Share groups: members who take records and answer for them, rightly and wrongly.

Which of several members is given which of several partitions is each broker's own affair, so only
the first one wants a topic of more than one; records may be taken by whoever asks for them.
"""

from random import Random
from typing import Any

from differential.drawing import batch, produce, rarely, weighted
from differential.steps import Area, Move, Pause, Step, Topic, any_version
from differential.symbols import Name, Ref, made, topic_id
from ottla.ids import Uuid
from ottla.wire.message import Message
from ottla.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from ottla.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from ottla.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from ottla.wire.messages.share_fetch import (
    AcknowledgementBatch as FetchAcknowledgementBatch,
)
from ottla.wire.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from ottla.wire.messages.share_group_describe import ShareGroupDescribeRequest
from ottla.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MEMBERS = "ABC"
PARTITIONS = {"t": 2, "u": 1}
STEPS = {
    "fetch": 5.0,
    "acknowledge": 3.5,
    "beat": 1.0,
    "produce": 1.5,
    "open": 0.6,
    "close": 0.4,
    "join": 0.3,
    "leave": 0.2,
    "look": 1.0,
    "look_at_offsets": 1.2,
    "alter": 0.15,
    "delete": 0.15,
    "configure": 0.15,
    "expire": 0.05,
}
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
GROUP_RESOURCE, SET = 32, 0
LOCK_MS = 1000
Answers = dict[tuple[Uuid, int], list[tuple[int, int, list[int]]]]


# -- what is answered, by what was taken ------------------------------------------------------


def answers(taken: Any, t: Uuid, u: Uuid, salt: int) -> Answers:
    """Drawn from the runs that a fetch told of, the same for either broker."""
    random = Random(salt)
    named = {t: "t", u: "u"}
    places = sorted(
        (named.get(topic.topic_id, "?"), part.partition_index, topic.topic_id, part)
        for topic in taken or ()
        for part in topic.partitions
        if part.acquired_records
    )
    favourite = random.choice((ACCEPT, RELEASE, RELEASE, REJECT))
    found: Answers = {}
    for _, index, its_id, part in places:
        runs = sorted((run.first_offset, run.last_offset) for run in part.acquired_records)
        some = [one for first, last in runs for one in answer(random, first, last, favourite)]
        if random.random() < 0.9:
            found[its_id, index] = some
    return found


def answer(
    random: Random, first: int, last: int, favourite: int
) -> list[tuple[int, int, list[int]]]:
    what = weighted(random, {"whole": 6, "each": 1.5, "part": 1.5, "two": 1, "none": 0.5, "odd": 1})
    if what == "each":
        return [(first, last, [random.choice((0, 1, 2, 2, 3)) for _ in range(first, last + 1)])]
    if what == "part":
        start = random.randint(first, last)
        return [(start, random.randint(start, last), [favourite])]
    if what == "two" and last > first:
        middle = random.randint(first, last - 1)
        return [(first, middle, [ACCEPT]), (middle + 1, last, [RELEASE])]
    if what == "none":
        return []
    if what == "odd":
        odd: tuple[list[tuple[int, int, list[int]]], ...] = (
            [(last, first - 1, [ACCEPT])],
            [(first, last, [])],
            [(first, last, [ACCEPT, ACCEPT])],
            [(first, last, [7])],
            [(first, last, [-1])],
            [(first, last, [RENEW])],
            [(first, last + 5, [ACCEPT])],
            [(last + 100, last + 101, [ACCEPT])],
            [(first, last, [ACCEPT]), (first, last, [ACCEPT])],
            [(max(first - 2, 0), last, [favourite])],
        )
        return random.choice(odd)
    return [(first, last, [favourite])]


def renewals(taken: Any, t: Uuid, u: Uuid, salt: int) -> Answers:
    """The same places, renewed or accepted."""
    random = Random(salt)
    return {
        place: [(first, last, [random.choice((RENEW, RENEW, ACCEPT))]) for first, last, _ in runs]
        for place, runs in answers(taken, t, u, salt).items()
    }


def in_acknowledge(given: Answers) -> list[AcknowledgeTopic]:
    topics: dict[Uuid, list[AcknowledgePartition]] = {}
    for (its_id, index), batches in given.items():
        topics.setdefault(its_id, []).append(
            AcknowledgePartition(
                partition_index=index,
                acknowledgement_batches=[
                    AcknowledgementBatch(first_offset=f, last_offset=n, acknowledge_types=types)
                    for f, n, types in batches
                ],
            )
        )
    return [AcknowledgeTopic(topic_id=key, partitions=parts) for key, parts in topics.items()]


def in_fetch(given: Answers, added: list[tuple[Uuid, int]]) -> list[FetchTopic]:
    topics: dict[Uuid, list[FetchPartition]] = {}
    for its_id, index in dict.fromkeys([*added, *given]):
        topics.setdefault(its_id, []).append(
            FetchPartition(
                partition_index=index,
                acknowledgement_batches=[
                    FetchAcknowledgementBatch(
                        first_offset=f, last_offset=n, acknowledge_types=types
                    )
                    for f, n, types in given.get((its_id, index), [])
                ],
            )
        )
    return [FetchTopic(topic_id=key, partitions=parts) for key, parts in topics.items()]


def acknowledged(taken: Any, t: Uuid, u: Uuid, salt: int, renews: bool) -> list[AcknowledgeTopic]:
    return in_acknowledge((renewals if renews else answers)(taken, t, u, salt))


def fetched(
    taken: Any, t: Uuid, u: Uuid, salt: int, kind: str, added: tuple[tuple[str, int], ...]
) -> list[FetchTopic]:
    make = {"renews": renewals, "answers": answers}.get(kind)
    ids = {"t": t, "u": u}
    places = [(ids[name], index) for name, index in added]
    return in_fetch(make(taken, t, u, salt) if make else {}, places)


# -- members ----------------------------------------------------------------------------------


class Member:
    """What a client would keep; it knows which of its requests open or turn a session."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.session: int | None = None
        self.topics = ["t", "u"] if name == MEMBERS[0] else ["u"]

    def step(self, request: Message, **more: Any) -> Step:
        version = any_version(self.random, type(request))
        return Step(request=request, version=version, connection=self.name, **more)

    def join(self) -> list[Move]:
        beat = ShareGroupHeartbeatRequest(
            group_id=rarely(self.random, 0.02, "", Name("g")),
            member_id=Name(self.name),
            member_epoch=0,
            rack_id=rarely(self.random, 0.05, "", None),
            subscribed_topic_names=[Name(topic) for topic in self.topics],
        )
        return [self.step(beat, bind=self.epochs), Pause(milliseconds=100), *self.beat(0.0)]

    @property
    def epochs(self) -> dict[str, str]:
        return {f"epoch.{self.name}": "member_epoch!"}

    def beat(self, wrong: float = 0.1) -> list[Move]:
        epoch = Ref(f"epoch.{self.name}", 0)
        off = Ref(f"epoch.{self.name}", 5, plus=self.random.choice((-1, 1)))
        older = Ref(f"epoch.{self.name}", 7, back=1)
        says = self.random.random() < 0.2
        beat = ShareGroupHeartbeatRequest(
            group_id=rarely(self.random, wrong / 3, Name("nobody"), Name("g")),
            member_id=rarely(self.random, wrong / 3, "stranger", Name(self.name)),
            member_epoch=rarely(self.random, wrong, self.random.choice((off, older, -7)), epoch),
            subscribed_topic_names=[Name(topic) for topic in self.topics] if says else None,
        )
        return [self.step(beat, bind=self.epochs)]

    def leave(self) -> list[Move]:
        beat = ShareGroupHeartbeatRequest(
            group_id=Name("g"), member_id=Name(self.name), member_epoch=-1
        )
        return [self.step(beat)]

    # -- records --

    def open(self) -> list[Move]:
        """A new session; its states are read while there is time, and nothing is big enough."""
        places = [(name, index) for name, count in PARTITIONS.items() for index in range(count)]
        some = tuple(self.random.sample(places, self.random.randint(1, len(places))))
        wrong = self.random.random() < 0.06
        kind = "answers" if wrong else ""
        request = ShareFetchRequest(
            **self.keys(0),
            max_wait_ms=120,
            min_bytes=1 << 20,
            max_bytes=1 << 20,
            max_records=self.random.choice((3, 500)),
            batch_size=500,
            topics=self.made_fetch(kind, some),
        )
        if not wrong:
            self.session = 1
        return [self.fetch_step(request)]

    def fetch(self) -> list[Move]:
        random = self.random
        epoch, turns = self.epoch_and_turn()
        kind = weighted(random, {"": 5, "answers": 4, "renews": 0.6})
        added = (("t", random.randint(0, 2)),) if random.random() < 0.05 else ()
        request = ShareFetchRequest(
            **self.keys(epoch),
            max_wait_ms=rarely(random, 0.2, 60, 0),
            min_bytes=rarely(random, 0.2, 1, 0),
            max_bytes=random.choice((100, 200, 400, 1 << 20, 1 << 20, 1 << 20)),
            max_records=random.choice((1, 2, 3, 5, 500, 500, 500, 0 if not added else 500)),
            batch_size=random.choice((1, 3, 500, 500)),
            share_acquire_mode=random.choice((0, 0, 0, 1)),
            topics=self.made_fetch(kind, added),
        )
        version = any_version(random, ShareFetchRequest)
        if added:  # there must be time to read its state
            request.max_wait_ms, request.min_bytes, request.max_bytes = 120, 1 << 20, 1 << 20
        elif random.random() < 0.1:  # which partition has its byte is a matter of chance
            request.min_bytes, request.max_bytes = 0, 1
        if kind == "renews" and random.random() < 0.8:
            request.is_renew_ack = True
            if random.random() < 0.8:
                request.max_wait_ms = request.min_bytes = 0
                request.max_bytes = request.max_records = 0
        if random.random() < 0.05:
            request.forgotten_topics_data = [
                ForgottenTopic(topic_id=topic_id("t"), partitions=[random.randint(0, 1)])
            ]
        takes_and_renews = bool(
            request.max_bytes or request.max_records or request.max_wait_ms or request.min_bytes
        )
        if turns and not (version >= 2 and request.is_renew_ack and takes_and_renews):
            self.turn()
        return [self.fetch_step(request, version)]

    def acknowledge(self) -> list[Move]:
        epoch, turns = self.epoch_and_turn()
        renews = self.random.random() < 0.15
        request = ShareAcknowledgeRequest(
            **self.keys(epoch),
            is_renew_ack=renews and self.random.random() < 0.8,
            topics=made(
                acknowledged,
                taken=Ref(f"taken.{self.name}", None),
                t=topic_id("t"),
                u=topic_id("u"),
                salt=self.random.randint(0, 1 << 30),
                renews=renews,
            ),
        )
        if turns:
            self.turn()
        return [self.step(request)]

    def close(self) -> list[Move]:
        """What it holds is given back after the answer."""
        moves = self.fetch() if self.random.random() < 0.5 else self.acknowledge()
        (last,) = moves
        assert isinstance(last, Step)
        last.request.share_session_epoch = -1  # type: ignore[attr-defined]
        if isinstance(last.request, ShareFetchRequest) and last.request.is_renew_ack:
            last.request.is_renew_ack = False
        self.session = None
        return [last, Pause(milliseconds=40)]

    def keys(self, epoch: int) -> dict[str, Any]:
        member = rarely(self.random, 0.01, self.random.choice(("", "x" * 37)), Name(self.name))
        return {"group_id": Name("g"), "member_id": member, "share_session_epoch": epoch}

    def epoch_and_turn(self) -> tuple[int, bool]:
        if self.session is None:
            return self.random.choice((1, 2, -1)), False
        if self.random.random() < 0.06:
            return self.session + self.random.choice((-1, 1, 5)) or 9, False
        return self.session, True

    def turn(self) -> None:
        assert self.session is not None
        self.session += 1

    def made_fetch(self, kind: str, added: tuple[tuple[str, int], ...]) -> Any:
        return made(
            fetched,
            taken=Ref(f"taken.{self.name}", None),
            t=topic_id("t"),
            u=topic_id("u"),
            salt=self.random.randint(0, 1 << 30),
            kind=kind,
            added=added,
        )

    def fetch_step(self, request: ShareFetchRequest, version: int | None = None) -> Step:
        version = version or any_version(self.random, ShareFetchRequest)
        bind = {f"taken.{self.name}": "responses!"}
        return Step(request=request, version=version, connection=self.name, bind=bind)


# -- others -----------------------------------------------------------------------------------


def fill(random: Random) -> list[Move]:
    name, index = random.choice((("t", 0), ("t", 0), ("t", 1), ("u", 0)))
    count = random.randint(1, 4)
    batches = [
        produce(
            ProduceRequest.VERSIONS[-1],
            name,
            {index: batch([f"v{n}" for n in range(random.choice((1, 1, 3, 8)))])},
            connection="look",
        )
        for _ in range(count)
    ]
    return list(batches)


def look(random: Random) -> list[Move]:
    request = ShareGroupDescribeRequest(
        group_ids=[Name("g"), *rarely(random, 0.1, [Name("nobody"), ""], [])],
        include_authorized_operations=random.random() < 0.3,
    )
    return [observed(random, request)]


def look_at_offsets(random: Random) -> list[Move]:
    wanted = [
        DescribeShareGroupOffsetsRequestTopic(topic_name=Name(name), partitions=list(range(count)))
        for name, count in PARTITIONS.items()
    ]
    if random.random() < 0.1:
        none = DescribeShareGroupOffsetsRequestTopic(topic_name=Name("none"), partitions=[0])
        wanted.append(none)
    group = DescribeShareGroupOffsetsRequestGroup(
        group_id=rarely(random, 0.05, Name("nobody"), Name("g")),
        topics=rarely(random, 0.4, None, rarely(random, 0.05, [], wanted)),
    )
    return [observed(random, DescribeShareGroupOffsetsRequest(groups=[group]))]


def observed(random: Random, request: Message) -> Step:
    version = any_version(random, type(request))
    return Step(request=request, version=version, connection="look", observes=True)


def alter(random: Random) -> list[Move]:
    name = random.choice(("t", "u", "none"))
    parts = [
        AlterShareGroupOffsetsRequestPartition(partition_index=n, start_offset=random.randint(0, 5))
        for n in random.sample((0, 1, 2), random.randint(1, 2))
    ]
    topic = AlterShareGroupOffsetsRequestTopic(topic_name=Name(name), partitions=parts)
    request = AlterShareGroupOffsetsRequest(
        group_id=rarely(random, 0.05, "", Name("g")), topics=[topic]
    )
    step = Step(request=request, version=0, connection="look")
    return [step, Pause(milliseconds=40)]


def delete(random: Random) -> list[Move]:
    if random.random() < 0.3:
        request: Message = DeleteGroupsRequest(groups_names=[Name("g")])
    else:
        names = random.sample(("t", "u", "none"), random.randint(1, 2))
        topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=Name(name)) for name in names]
        request = DeleteShareGroupOffsetsRequest(
            group_id=rarely(random, 0.1, Name("nobody"), Name("g")), topics=topics
        )
    version = any_version(random, type(request))
    return [Step(request=request, version=version, connection="look"), Pause(milliseconds=40)]


def configured(**settings: str) -> list[Move]:
    """It takes a moment until the broker that is asked knows."""
    configs = [
        AlterableConfig(name=name.replace("_", "."), value=value, config_operation=SET)
        for name, value in settings.items()
    ]
    resource = AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=Name("g"), configs=configs
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    return [Step(request=request, version=1, connection="look"), Pause(milliseconds=60)]


def configure(random: Random) -> list[Move]:
    name, value = random.choice(
        (
            ("share_delivery_count_limit", random.choice(("2", "3", "4", "5", "7", "10"))),
            ("share_renew_acknowledge_enable", random.choice(("true", "false"))),
            ("share_partition_max_record_locks", random.choice(("100", "2000"))),
        )
    )
    return configured(**{name: value})


def expire(random: Random) -> list[Move]:
    return [Pause(milliseconds=LOCK_MS + 300)]


def draw(random: Random) -> list[Move]:
    has_short_locks = random.random() < 0.15
    settings = {"share_auto_offset_reset": "earliest"}
    if has_short_locks:
        settings["share_record_lock_duration_ms"] = str(LOCK_MS)
    members = [Member(name, random) for name in MEMBERS[: random.randint(1, 3)]]
    moves: list[Move] = configured(**settings)
    for member in members:
        moves += [*member.join(), *member.open()]
    moves += fill(random)
    others = {
        "produce": fill,
        "look": look,
        "look_at_offsets": look_at_offsets,
        "alter": alter,
        "delete": delete,
        "configure": configure,
        "expire": expire,
    }
    while len(moves) < 30 + random.randint(0, 30):
        kind = weighted(random, STEPS)
        if kind == "expire" and not has_short_locks:
            continue
        if kind in others:
            moves += others[kind](random)
        else:
            member = random.choice(members)
            moves += getattr(member, kind)()
            if member.session is None and random.random() < 0.7:
                moves += member.open()
    return [*moves, *look_at_offsets(random), *look(random)]


AREA = Area(
    name="share_groups",
    draw=draw,
    topics=tuple(Topic(name=name, partitions=count) for name, count in PARTITIONS.items()),
    settings={
        "group.share.min.record.lock.duration.ms": str(LOCK_MS),
        "group.share.record.lock.duration.ms": "30000",
        "group.share.min.delivery.count.limit": "2",
        "group.share.max.delivery.count.limit": "10",
        "group.share.min.partition.max.record.locks": "100",
        "group.share.min.assignment.interval.ms": "0",
        "group.share.assignment.interval.ms": "0",
    },
    ordered=frozenset({"PartitionData.acquired_records"}),
    lasting=frozenset({"ShareGroupHeartbeat", "ShareFetch", "AlterShareGroupOffsets"}),
    modes=("patient",),
    keeps_connections=False,  # who goes releases what it had acquired
    seeds_in_tests=60,
    kafka_varies=True,
    also=(236, 295, 321, 370, 12080, 15361, 16334),  # the first four: mutants
)
