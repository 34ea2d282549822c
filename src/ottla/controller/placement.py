"""Where new replicas go: across racks first, then evenly over brokers, on living ones first.

Replicas are dealt like cards: each partition starts one rack further, each rack hands out its
brokers in turn. The starting points are random, so that many small topics spread as well.
"""

from collections.abc import Sequence

from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import BrokerRegistration, Image
from ottla.ports.chance import Chance


class _Ring:
    """Brokers handed out in turn; each round starts one further."""

    def __init__(self, brokers: Sequence[int], chance: Chance) -> None:
        self.brokers = sorted(brokers)
        self.offset = chance.randrange(len(self.brokers)) if self.brokers else 0

    def deal(self, position: int) -> int | None:
        if position >= len(self.brokers):
            return None
        return self.brokers[(self.offset + position) % len(self.brokers)]


class _Rack:
    def __init__(self, brokers: list[BrokerRegistration], chance: Chance) -> None:
        self.living = _Ring([one.id for one in brokers if not one.fenced], chance)
        self.fenced = _Ring([one.id for one in brokers if one.fenced], chance)

    def __len__(self) -> int:
        return len(self.living.brokers) + len(self.fenced.brokers)

    def deal(self, position: int) -> int | None:
        living = self.living.deal(position)
        if living is not None:
            return living
        return self.fenced.deal(position - len(self.living.brokers))

    def advance(self) -> None:
        self.living.offset += 1
        self.fenced.offset += 1


class Placer:
    """Deals the replicas of new partitions, for one request."""

    def __init__(self, image: Image, chance: Chance) -> None:
        usable = [
            one for one in image.brokers.values() if one.takes_new_replicas and not _hands_over(one)
        ]
        self.brokers = len(usable)
        self.living = sum(not one.fenced for one in usable)
        by_rack: dict[str, list[BrokerRegistration]] = {}
        for broker in usable:
            by_rack.setdefault(broker.rack or "", []).append(broker)
        self.racks = [_Rack(by_rack[name], chance) for name in sorted(by_rack)]
        self.first = chance.randrange(len(self.racks)) if self.racks else 0

    def place(self, count: int, replication_factor: int) -> list[tuple[int, ...]]:
        """The replicas of `count` new partitions, the preferred leader first."""
        self._check(replication_factor)
        return [self._place_one(replication_factor) for _ in range(count)]

    def _check(self, replication_factor: int) -> None:
        if replication_factor <= 0:
            raise _cannot("A replication factor is at least 1.")
        if self.living == 0:
            raise _cannot("All brokers are fenced, shutting down or cordoned now.")
        if replication_factor > self.brokers:
            raise _cannot(
                f"The replication factor {replication_factor} is higher than the number of "
                f"brokers that may take new replicas, {self.brokers}."
            )

    def _place_one(self, replication_factor: int) -> tuple[int, ...]:
        chosen: list[int] = []
        dealt = [0] * len(self.racks)
        rack = self._first_living_rack()
        while len(chosen) < replication_factor:
            index = rack % len(self.racks)
            replica = self.racks[index].deal(dealt[index])
            if replica is not None:
                dealt[index] += 1
                chosen.append(replica)
            rack += 1
        for one in self.racks:
            one.advance()
        self.first += 1
        return tuple(chosen)

    def _first_living_rack(self) -> int:
        """The leader must live."""
        for step in range(len(self.racks)):
            if self.racks[(self.first + step) % len(self.racks)].living.brokers:
                return self.first + step
        return self.first


def _hands_over(broker: BrokerRegistration) -> bool:
    """It is about to stop. One that has stopped is fenced, and will come back."""
    return broker.in_controlled_shutdown and not broker.fenced


def _cannot(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, why)
