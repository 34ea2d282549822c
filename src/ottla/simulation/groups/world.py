"""A group under a seed: members of one protocol or two, coordinators one after another, and faults.

Checked at every step:
- of those who are members in the coordinator's eyes, no two own the same partition;
- nobody commits for a partition that another member owns, in a transaction or without;
- a commit that was answered survives every move of the coordinator;
- no offset expires while its group has members, or before its time;
- in one generation of a classic group nobody is given what another was given, nor anything else
  than the coordinator before gave;
- tools that look on see every offset that was committed, and what every member was given;
- what a coordinator knows is what another would know that has its log.
At the end all faults stop, and the group must settle with every partition owned.
"""

import asyncio
from random import Random
from typing import Any

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant, ProducerIdAndEpoch
from ottla.errors import KafkaError
from ottla.groups.classic.group import ClassicGroup
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.limits import GroupLimits, Pace
from ottla.groups.machine import Groups
from ottla.groups.offsets.removal import topics_deleted
from ottla.groups.streams.group import StreamsGroup
from ottla.ids import Uuid
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.simulation.engine.clock import LoopClock
from ottla.simulation.engine.network import CALM, HostileNetwork, Weather
from ottla.simulation.engine.violation import Violation
from ottla.simulation.engine.virtual_loop import run_virtually
from ottla.simulation.groups.classic_member import ClassicMember
from ottla.simulation.groups.consumer_member import ConsumerMember
from ottla.simulation.groups.members import (
    GROUP,
    SESSION_MS,
    SIDE_TOPIC,
    TOPIC,
    SimulatedMember,
    commit_from_outside,
    topic_id_of,
)
from ottla.simulation.groups.onlooker import Onlooker
from ottla.simulation.groups.shard import NOTICED_WITHIN_S, CoordinatorTerm, GroupLog
from ottla.simulation.groups.streams_member import SUBTOPOLOGY, StreamsMember
from ottla.simulation.groups.successor import forgotten_by_a_successor
from ottla.wire.records.classic_groups import GroupMetadataKey
from ottla.wire.records.consumer_groups import ConsumerGroupMetadataKey
from ottla.wire.records.offsets import OffsetCommitKey
from ottla.wire.records.streams_groups import StreamsGroupMetadataKey

SETTLED_WITHIN = 60.0
SETTLED_FOR = 12  # seconds: longer than a session
STORY_LINES = 200
STORM = Weather(loss=0.2, repeat=0.2, delay=0.02, slow=0.2)
CRASHES, FREEZES, MOVES, STORMS = 0.15, 0.1, 0.1, 0.15  # a second
GROWTH, DELETIONS = 0.05, 0.1
LONGEST_FREEZE = 15.0
RETENTION_MS = 4_000
GROUP_KEYS = (GroupMetadataKey, ConsumerGroupMetadataKey, StreamsGroupMetadataKey)
LIMITS = GroupLimits(
    initial_rebalance_delay_ms=500,
    new_member_join_timeout_ms=20_000,
    offsets_retention_ms=RETENTION_MS,
    retention_check_interval_ms=700,
    pace=Pace(1_000, SESSION_MS, streams_session_timeout_ms=SESSION_MS),
)


KINDS: list[list[type[SimulatedMember]]] = [
    [ConsumerMember],
    [ClassicMember],
    [ConsumerMember, ClassicMember],
    [StreamsMember],
]
"""Which protocols a world's members speak, by its seed."""


class WatchedGroups(Groups):
    """The coordinator's machine, which tells the world what it lets go."""

    def __init__(self, world: "GroupWorld") -> None:
        super().__init__(LIMITS, world.new_id, lambda: world.image)
        self.topics_version = world.topics_version
        self._world = world

    def loaded(self, now: Instant) -> Decision[None]:
        decision = super().loaded(now)
        self._world.check_expired(self, now, decision.records)
        return decision

    def tick(self, now: Instant) -> Decision[None]:
        decision = super().tick(now)
        self._world.check_expired(self, now, decision.records)
        return decision


class GroupWorld:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.story: list[str] = []
        self.partitions = 0
        self.topic_id = topic_id_of(TOPIC)
        self.topics_version = 0
        self.last_offset = 0
        self.moves = self.commits = 0
        self.group_lives = 1  # one that was forgotten begins anew with the first epoch
        self.image = Image()
        self.members: list[SimulatedMember] = []
        self.clock: LoopClock
        self.network: HostileNetwork
        self.coordinator: CoordinatorTerm
        self.onlooker: Onlooker
        self._promised: set[int] = set()  # commits that were answered and not looked for since
        self.given: dict[int, dict[str, set[int]]] = {}  # of classic generations
        self._ids = 0
        self._trouble: BaseException | None = None

    def run(self, seconds: float) -> "GroupWorld":
        run_virtually(self._live(seconds))
        return self

    async def _live(self, seconds: float) -> None:
        self.clock = LoopClock()
        self.network = HostileNetwork(self.clock, self.rng)
        asyncio.get_running_loop().set_exception_handler(self._went_wrong)
        self._grow(self.rng.randint(3, 6))
        self._lead(GroupLog(self.rng, 0, [], 0))
        self.onlooker = Onlooker(self)
        await self._go_on(0.5)
        for partition in range(self.partitions):
            commit_from_outside(self, partition)
        kinds = KINDS[self.seed % len(KINDS)]
        for number in range(1, self.rng.randint(2, 4) + 1):
            self.members.append(kinds[number % len(kinds)](self, number))
        end = self.clock.now + seconds
        while self.clock.now < end:
            await self._go_on(0.5)
            self._fault(0.5)
        self._heal()
        await self._settle()
        self._check_successor()
        self._check_promises(self.coordinator.log.batches)

    async def _go_on(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self._trouble is not None:
            raise self._trouble

    def _went_wrong(self, _: Any, context: dict[str, Any]) -> None:
        """What was raised where nobody waits for it."""
        error = context.get("exception")
        if error is not None and not isinstance(error, KafkaError):
            self._trouble = self._trouble or error

    def note(self, line: str) -> None:
        self.story.append(f"{self.clock.now:9.3f} {line}")
        del self.story[:-STORY_LINES]

    # -- faults -------------------------------------------------------------------------------

    def _fault(self, seconds: float) -> None:
        dice = self.rng.random
        if dice() < CRASHES * seconds:
            member = self.rng.choice(self.members)
            if member.alive:
                member.die()
            else:
                member.start()
        if dice() < FREEZES * seconds:
            member = self.rng.choice(self.members)
            member.frozen_until = self.clock.now + LONGEST_FREEZE * dice()
            self.note(f"member {member.number} is stopped until {member.frozen_until:.1f}")
        if dice() < MOVES * seconds:
            self._move()
        if dice() < STORMS * seconds:
            self.network.weather = STORM
            self.clock.after(5 * dice(), self._calm)
        if dice() < GROWTH * seconds and self.partitions < 12:
            self._grow(self.partitions + 1)
        if dice() < DELETIONS * seconds:
            self._delete_side_topic()

    def _delete_side_topic(self) -> None:
        gone = frozenset({SIDE_TOPIC})
        self.note(f"topic {SIDE_TOPIC} is deleted")
        self.coordinator.submit(
            lambda groups, _now, _: topics_deleted(groups, gone), lambda _: None
        )

    def _move(self) -> None:
        """Often the old coordinator does not hear of it for a while."""
        old = self.coordinator
        notices_after_s = NOTICED_WITHIN_S * self.rng.random() if self.rng.random() < 0.7 else 0.0
        self.note(f"the coordinator moves, and the old one knows it in {notices_after_s:.1f} s")
        self.moves += 1
        self._check_successor()
        old.depose(notices_after_s)
        batches = old.log.for_successor()
        self._check_promises(batches)
        self._lead(GroupLog(self.rng, self.moves, batches, old.log.high_watermark))

    def _lead(self, log: GroupLog) -> None:
        self.coordinator = CoordinatorTerm(log, lambda: WatchedGroups(self))

    def _grow(self, partitions: int) -> None:
        self.partitions = partitions
        whole = {
            i: PartitionRegistration(replicas=(1,), isr=(1,), leader=1) for i in range(partitions)
        }
        topic = Topic(self.topic_id, TOPIC, whole)
        self.image.topics_by_name[TOPIC] = self.image.topics_by_id[self.topic_id] = topic
        self.topics_version += 1
        groups = self.coordinator.machine if self.topics_version > 1 else None
        if groups is not None:
            groups.topics_version = self.topics_version

    def _calm(self) -> None:
        self.network.weather = CALM

    def _heal(self) -> None:
        self.note("all faults end")
        self.network.heal()
        for member in self.members:
            member.frozen_until = 0.0
            if not member.alive:
                member.start()

    # -- invariants ---------------------------------------------------------------------------

    def check_owners(self) -> None:
        owners: dict[int, SimulatedMember] = {}
        for member in self.members:
            if not member.alive or not self._is_member(member):
                continue
            for partition in member.owned:
                other = owners.setdefault(partition, member)
                if other is not member:
                    self.fail(f"{other.id} and {member.id} both own partition {partition}")

    def _is_member(self, member: SimulatedMember) -> bool:
        group = self.group()
        if isinstance(group, ConsumerGroup | StreamsGroup):
            known = group.members.get(member.id)
            return known is not None and member.epoch in (known.epoch, known.previous_epoch)
        return (
            isinstance(group, ClassicGroup)
            and member.id in group.members
            and member.epoch == group.generation
        )

    def commit_accepted(
        self, coordinator: CoordinatorTerm, member_id: str, epoch: int, partition: int
    ) -> None:
        """By one that was deposed it is not: nobody may be told so."""
        groups = coordinator.machine
        if groups is None or coordinator is not self.coordinator:
            return
        group = groups.groups.get(GROUP)
        if isinstance(group, ConsumerGroup):
            owner = group.owners.get((self.topic_id, partition), member_id)
            if owner != member_id:
                self.fail(f"{member_id} commits for {partition}, which {owner} owns")
        elif isinstance(group, StreamsGroup):
            task = SUBTOPOLOGY, partition
            for other in group.members.values():
                if other.id != member_id and task in other.held.active | other.revoking.active:
                    self.fail(f"{member_id} commits for {partition}, which {other.id} owns")
        elif isinstance(group, ClassicGroup) and (
            member_id not in group.members or epoch != group.generation
        ):
            self.fail(f"{member_id} commits in generation {epoch}, which is over")

    def commit_promised(self, offset: int) -> None:
        self.commits += 1
        self._promised.add(offset)

    def _check_successor(self) -> None:
        groups = self.coordinator.machine
        if groups is not None and (what := forgotten_by_a_successor(groups, self.coordinator.log)):
            self.fail(f"what is known is not in the log: {what}")

    @staticmethod
    def token(offset: int) -> str:
        """By which a commit is found in the log."""
        return f"<{offset}>"

    def _check_promises(self, log: list[bytes]) -> None:
        """What is there now stays: no log is cut below what was committed."""
        whole = b"".join(log)
        gone = [offset for offset in self._promised if self.token(offset).encode() not in whole]
        if gone:
            self.fail(f"commits {sorted(gone)} were answered and are gone")
        self._promised.clear()

    def end_transaction(self, producer: ProducerIdAndEpoch) -> None:
        """Write its marker, whoever coordinates by then."""

        def told(reply: object) -> None:
            if isinstance(reply, KafkaError):
                self.end_transaction(producer)

        self.clock.after(
            0.05 + self.rng.random(), lambda: self.coordinator.end_transaction(producer, told)
        )

    def check_expired(self, groups: Groups, now: Instant, records: Any) -> None:
        group = groups.groups.get(GROUP)
        for key, value in (CoordinatorRecord(*record) for record in records):
            if value is None and isinstance(key, GROUP_KEYS):
                self.given.clear()
                self.group_lives += 1
            if value is not None or not isinstance(key, OffsetCommitKey) or key.topic != TOPIC:
                continue
            self.onlooker.forget(key.partition)
            if group is None:
                continue
            if group.members:
                self.fail(f"the offset of {key.partition} expires, and there are members")
            age_ms = now.wall_ms - groups.offsets.of(GROUP)[key.topic, key.partition].commit_ms
            if age_ms < RETENTION_MS:
                self.fail(f"the offset of {key.partition} expires after {age_ms} ms")

    def classic_assigned(self, member: SimulatedMember, partitions: set[int]) -> None:
        group = self.group()
        if not isinstance(group, ClassicGroup) or not self._is_member(member):
            return
        generation = member.epoch
        before = self.given.get(generation, {})  # perhaps of a group that is gone: it counts anew
        given = {other: theirs for other, theirs in before.items() if other in group.members}
        self.given[generation] = given
        if given.setdefault(member.id, partitions) != partitions:
            self.fail(f"{member.id} is told another assignment of generation {generation}")
        for other, theirs in given.items():
            if other != member.id and theirs & partitions:
                self.fail(f"{other} and {member.id} share partitions in generation {generation}")

    def group(self) -> object:
        groups = self.coordinator.machine
        return None if groups is None else groups.groups.get(GROUP)

    async def _settle(self) -> None:
        """Every partition has its owner, and keeps it."""
        deadline, calm_s, before = self.clock.now + SETTLED_WITHIN, 0, self._owned()
        while calm_s < SETTLED_FOR:
            if self.clock.now > deadline:
                self.fail(f"not settled: {self._owned()} of {self.partitions} partitions")
            await self._go_on(1.0)
            owned = self._owned()
            whole = sorted(partition for _, has in owned for partition in has)
            is_calm = owned == before and whole == list(range(self.partitions))
            calm_s, before = calm_s + 1 if is_calm else 0, owned

    def _owned(self) -> list[tuple[str, list[int]]]:
        return [(member.id, sorted(member.owned)) for member in self.members]

    def fail(self, what: str) -> None:
        story = "\n".join(self.story[-40:])
        violation = Violation(f"seed {self.seed} at {self.clock.now:.3f}: {what}\n{story}")
        self._trouble = self._trouble or violation
        raise violation

    def new_id(self) -> Uuid:
        self._ids += 1
        return self._ids.to_bytes(16, "big")
