"""Our own links stay open when their session ends: they authenticate again, at both brokers."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.network import LinkLost, TcpNetwork
from ottla.security.links import AuthenticatedNetwork
from ottla.security.listener_options import NodeLogin
from ottla.wire.client import Client
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.brokers import Kind
from support.secured import Secured, running_secured

pytestmark = pytest.mark.timeout(120)

SESSION_S, WORK_S = 1.5, 4.0
LOGINS = [NodeLogin("PLAIN", "pia", "plain secret"), NodeLogin("SCRAM-SHA-256", "alice", "secret")]


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    session = str(int(SESSION_S * 1000))
    more = {
        "connections.max.reauth.ms": session,
        "listener.name.secure.plain.connections.max.reauth.ms": session,
    }
    with running_secured(broker_kind, tmp_path_factory.mktemp("sessions"), more) as secured:
        yield secured


async def asked(network: AuthenticatedNetwork, address: str) -> int:
    """Two at a time, for several sessions on one link; how many were answered."""
    host, _, port = address.partition(":")
    lost: list[bool] = []
    link = await network.connect(host, int(port), lambda: lost.append(True))
    client = Client(link, "test")
    answered, end = 0, time.monotonic() + WORK_S
    while time.monotonic() < end:
        asks = (client.ask(MetadataRequest(topics=[]), 12, MetadataResponse) for _ in range(2))
        answered += len(await asyncio.gather(*asks))
        await asyncio.sleep(0.02)
    assert not lost
    link.close()
    return answered


@pytest.mark.parametrize("login", LOGINS, ids=lambda login: login.mechanism)
def test_a_link_outlives_its_sessions(secured: Secured, login: NodeLogin) -> None:
    network = AuthenticatedNetwork(TcpNetwork(), login, SYSTEM_CHANCE)
    assert asyncio.run(asked(network, secured.address)) > 50


def test_a_link_that_slept_longer_than_its_session_is_of_use_again(secured: Secured) -> None:
    async def sleep_and_ask() -> None:
        network = AuthenticatedNetwork(TcpNetwork(), LOGINS[0], SYSTEM_CHANCE)
        host, _, port = secured.address.partition(":")
        link = await network.connect(host, int(port), lambda: None)
        await asyncio.sleep(SESSION_S + 0.5)
        await Client(link, "test").ask(MetadataRequest(topics=[]), 12, MetadataResponse)
        link.close()

    asyncio.run(sleep_and_ask())


async def until_lost(client: Client) -> None:
    while True:
        try:
            await client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
        except LinkLost:
            return
        await asyncio.sleep(0.1)


def test_who_lost_the_password_loses_the_link_with_the_session(secured: Secured) -> None:
    secured.add_user("carol", "secret")

    async def ask_on() -> None:
        login = NodeLogin("SCRAM-SHA-256", "carol", "secret")
        network = AuthenticatedNetwork(TcpNetwork(), login, SYSTEM_CHANCE)
        host, _, port = secured.address.partition(":")
        link = await network.connect(host, int(port), lambda: None)
        secured.add_user("carol", "another secret")
        async with asyncio.timeout(20):
            await until_lost(Client(link, "test"))
        assert not link.is_open

    asyncio.run(ask_on())
