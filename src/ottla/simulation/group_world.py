"""A group under a seed: members of either protocol, a coordinator that moves, and faults.

Checked at every step:
- of those who are members in the coordinator's eyes, no two own the same partition;
- nobody commits for a partition that another member owns;
- a commit that was answered survives every move of the coordinator;
- in one generation of a classic group nobody is given what another was given, nor anything else
  than the coordinator before gave.
At the end all faults stop, and the group must settle with every partition owned.
"""

from random import Random

from ottla.groups.classic.group import ClassicGroup
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.limits import Limits, Pace
from ottla.groups.machine import Groups
from ottla.metadata.image import Image, Partition, Topic
from ottla.simulation.clock import Clock
from ottla.simulation.group_members import (
    GROUP,
    SESSION_MS,
    TOPIC,
    ClassicMember,
    ConsumerMember,
    GroupMember,
    topic_id_of,
)
from ottla.simulation.group_shard import GroupShard
from ottla.simulation.network import CALM, Network, Weather

SETTLED_WITHIN = 60.0
STORY_LINES = 200
STORM = Weather(loss=0.2, repeat=0.2, delay=0.02, slow=0.2)
CRASHES, FREEZES, MOVES, STORMS, GROWTH = 0.15, 0.1, 0.1, 0.15, 0.05  # a second
LONGEST_FREEZE = 15.0


KINDS: list[list[type[GroupMember]]] = [
    [ConsumerMember],
    [ClassicMember],
    [ConsumerMember, ClassicMember],
]
"""Which protocols a world's members speak, by its seed."""


class Violation(AssertionError):
    """An invariant does not hold; the story says how it came to that."""


class GroupWorld:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.clock = Clock()
        self.network = Network(self.clock, self.rng)
        self.story: list[str] = []
        self.partitions = 0
        self.topic_id = topic_id_of(TOPIC)
        self.last_offset = 0
        self.moves = self.promised_end = self.commits = 0
        self._image = Image()
        self._given: dict[int, dict[str, set[int]]] = {}  # of classic generations
        limits = Limits(
            initial_rebalance_delay_ms=500,
            new_member_join_timeout_ms=20_000,
            pace=Pace(1_000, SESSION_MS),
        )
        self._grow(self.rng.randint(3, 6))
        self.shard = GroupShard(self.clock, self.rng, self._image, limits)
        kinds = KINDS[seed % len(KINDS)]
        self.members: list[GroupMember] = []
        for number in range(1, self.rng.randint(2, 4) + 1):
            self.members.append(kinds[number % len(kinds)](self, number))

    def run(self, seconds: float) -> "GroupWorld":
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.run_until(self.clock.now + 0.5)
            self._fault(0.5)
        self._heal()
        self.clock.run_until(self.clock.now + SETTLED_WITHIN)
        self._check_settled()
        return self

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
            self.shard.topics_changed()

    def _move(self) -> None:
        self.note("the coordinator moves")
        self.moves += 1
        self.shard.move()
        if len(self.shard.log) < self.promised_end:
            self._fail(f"{self.promised_end - len(self.shard.log)} promised records are gone")

    def _grow(self, partitions: int) -> None:
        self.partitions = partitions
        whole = {i: Partition(replicas=(1,), isr=(1,), leader=1) for i in range(partitions)}
        topic = Topic(self.topic_id, TOPIC, whole)
        self._image.topics_by_name[TOPIC] = self._image.topics_by_id[self.topic_id] = topic

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
        owners: dict[int, GroupMember] = {}
        for member in self.members:
            if not member.alive or not self._is_member(member):
                continue
            for partition in member.owned:
                other = owners.setdefault(partition, member)
                if other is not member:
                    self._fail(f"{other.id} and {member.id} both own partition {partition}")

    def _is_member(self, member: GroupMember) -> bool:
        group = self.shard.machine.groups.get(GROUP)
        if not self.shard.serving or group is None:
            return False
        if isinstance(group, ConsumerGroup):
            known = group.members.get(member.id)
            return known is not None and member.epoch in (known.epoch, known.previous_epoch)
        return (
            isinstance(group, ClassicGroup)
            and member.id in group.members
            and member.epoch == group.generation
        )

    def commit_accepted(self, groups: Groups, member_id: str, epoch: int, partition: int) -> None:
        group = groups.groups.get(GROUP)
        if isinstance(group, ConsumerGroup):
            owner = group.owners.get((self.topic_id, partition), member_id)
            if owner != member_id:
                self._fail(f"{member_id} commits for {partition}, which {owner} owns")
        elif isinstance(group, ClassicGroup) and (
            member_id not in group.members or epoch != group.generation
        ):
            self._fail(f"{member_id} commits in generation {epoch}, which is over")

    def commit_promised(self, end: int) -> None:
        self.commits += 1
        self.promised_end = max(self.promised_end, end)

    def classic_assigned(self, generation: int, member_id: str, partitions: set[int]) -> None:
        if not isinstance(self.shard.machine.groups.get(GROUP), ClassicGroup):
            return
        given = self._given.setdefault(generation, {})
        if given.setdefault(member_id, partitions) != partitions:
            self._fail(f"{member_id} is told another assignment of generation {generation}")
        for other, theirs in given.items():
            if other != member_id and theirs & partitions:
                self._fail(f"{other} and {member_id} share partitions in generation {generation}")

    def _check_settled(self) -> None:
        owned = [partition for member in self.members for partition in sorted(member.owned)]
        if sorted(owned) != list(range(self.partitions)):
            state = {member.id: sorted(member.owned) for member in self.members}
            self._fail(f"not settled: {state} of {self.partitions} partitions")

    def _fail(self, what: str) -> None:
        story = "\n".join(self.story[-40:])
        raise Violation(f"seed {self.seed} at {self.clock.now:.3f}: {what}\n{story}")
