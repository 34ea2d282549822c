"""Before a client is sent to another broker, that one is asked for a sign of life."""

import asyncio
from collections.abc import Callable

from ottla.membership.presence import Presence
from ottla.membership.suspects import Suspects
from ottla.metadata.image import BrokerRegistration, Delta, Image
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.network import Link, LinkLost
from ottla.replication.peers import Peers

NO_ERROR_NO_APIS = bytes(6)


class Answering:
    is_open = True

    async def exchange(self, frame: bytes) -> bytes:
        return frame[4:8] + NO_ERROR_NO_APIS

    def close(self) -> None:
        pass


class Silent(Answering):
    async def exchange(self, frame: bytes) -> bytes:
        await asyncio.sleep(10)
        raise AssertionError("nobody waits so long")


class World:
    """A network of one other broker, number 2."""

    def __init__(self, link: Link | None) -> None:
        self.link = link
        self.connected = 0
        self.suspects = Suspects()
        peers = Peers(self, lambda node: ("host", 9092), "me")
        self.presence = Presence(peers, self.suspects, SYSTEM_CLOCK.monotonic)

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        self.connected += 1
        if self.link is None:
            raise LinkLost("refused")
        return self.link


def test_one_that_answers_is_named_at_once_and_asked_once_for_all() -> None:
    async def scene() -> World:
        world = World(Answering())
        await asyncio.gather(*(world.presence.look_for([2]) for _ in range(5)))
        return world

    world = asyncio.run(scene())
    assert not world.suspects.exist
    assert world.connected == 1


def test_one_that_is_gone_is_a_suspect_until_the_controller_has_spoken() -> None:
    async def scene() -> tuple[bool, bool]:
        world = World(None)
        looking = asyncio.ensure_future(world.presence.look_for([2]))
        await asyncio.sleep(0.01)
        waits = world.suspects.exist and not looking.done()
        world.suspects.found(2)
        await looking
        return waits, world.suspects.exist

    assert asyncio.run(scene()) == (True, False)


def test_one_that_says_nothing_is_left_to_its_session() -> None:
    async def scene() -> bool:
        world = World(Silent())
        await world.presence.look_for([2])
        return world.suspects.exist

    assert not asyncio.run(scene())


def test_one_that_was_fenced_already_keeps_nobody_waiting() -> None:
    async def scene() -> bool:
        world = World(None)
        image, delta = Image(), Delta()
        image.brokers[2] = BrokerRegistration(id=2, epoch=1, incarnation=bytes(16), fenced=True)
        delta.brokers[2] = None
        world.suspects.image_changed(image, delta, 0.0)
        await world.presence.look_for([2])
        return world.suspects.exist

    assert not asyncio.run(scene())
