"""One quorum of Apache Kafka's controllers and our members: all speak, vote and lead alike."""

import asyncio
import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.ids import show_uuid
from ottla.metadata.features import bootstrap_values
from ottla.quorum.roles import LeaderState
from support.brokers import die_with_parent
from support.class_data import brief_java
from support.jars import class_path
from support.quorum_members import CLUSTER_ID, Members, eventually

NO_OP = b"\x01\x14\x00\x00"
START_SECONDS_MAX = 60.0


class KafkaController:
    """A process with the controller's role alone, in the place of one of the members."""

    def __init__(self, members: Members, node: int, path: Path, *, static: bool) -> None:
        self.path = path / f"kafka{node}"
        self.path.mkdir()
        ports = {n: member.config.endpoints[0].port for n, member in members.all.items()}
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in ports.items())
        servers = ",".join(f"127.0.0.1:{port}" for port in ports.values())
        quorum = (
            f"controller.quorum.voters={voters}"
            if static
            else f"controller.quorum.bootstrap.servers={servers}"
        )
        self.file = self.path / "controller.properties"
        self.file.write_text(
            f"process.roles=controller\nnode.id={node}\n"
            f"listeners=CONTROLLER://127.0.0.1:{ports[node]}\n"
            f"controller.listener.names=CONTROLLER\n{quorum}\nlog.dirs={self.path}/data\n"
        )
        self.format(members, static=static)
        self.process: subprocess.Popen[bytes] | None = None

    def format(self, members: Members, *, static: bool) -> None:
        initial = ",".join(
            f"{n}@127.0.0.1:{m.config.endpoints[0].port}:{show_uuid(m.config.directory_id)}"
            for n, m in members.all.items()
        )
        more = [] if static else ["--initial-controllers", initial]
        tool = [*brief_java(), "-cp", class_path(), "kafka.tools.StorageTool", "format"]
        subprocess.run(
            [*tool, "-t", CLUSTER_ID, "-c", str(self.file), *more],
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        with (self.path / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*brief_java(), "-cp", class_path(), "kafka.Kafka", str(self.file)],
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,
            )

    @property
    def knows_leader(self) -> bool:
        state = self.path / "data/__cluster_metadata-0/quorum-state"
        return state.exists() and json.loads(state.read_text())["leaderId"] >= 0

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def controllers(
    members: Members, path: Path, *, static: bool, nodes: tuple[int, ...]
) -> Iterator[dict[int, KafkaController]]:
    """Apache Kafka in the place of these members, started."""
    started = {node: KafkaController(members, node, path, static=static) for node in nodes}
    try:
        for controller in started.values():
            controller.start()
        yield started
    finally:
        for controller in started.values():
            controller.kill()


@pytest.mark.java
@pytest.mark.timeout(300)
@pytest.mark.parametrize("static", [True, False])
def test_we_follow_kafka_and_vote_when_it_dies(tmp_path: Path, static: bool) -> None:
    async def scenario() -> None:
        members = Members(tmp_path, 3, static=static)
        ours = members.all[3]
        with controllers(members, tmp_path, static=static, nodes=(1, 2)) as kafka:
            # Ours is up in milliseconds and would lead: it joins when they have elected.
            await eventually(lambda: all(k.knows_leader for k in kafka.values()), START_SECONDS_MAX)
            await ours.start()
            await eventually(lambda: len(ours.memory.values) > 5, START_SECONDS_MAX)
            dead = ours.quorum.leader_id
            assert dead is not None
            kafka[dead].kill()
            await eventually(lambda: ours.quorum.leader_id not in (dead, None), 30)
            if ours.quorum.is_leader:
                await asyncio.wait_for(ours.quorum.append([NO_OP]), 20)
            told = len(ours.memory.values)
            await eventually(lambda: len(ours.memory.values) > told or ours.quorum.is_leader, 20)
            await ours.stop()

    asyncio.run(scenario())


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def reached(leader: LeaderState, node: int) -> int:
    """How far another member has fetched."""
    return max(
        (one.end_offset for key, one in leader.progress.items() if key.id == node), default=-1
    )


@pytest.mark.java
@pytest.mark.timeout(300)
@pytest.mark.parametrize("static", [True, False])
def test_kafka_follows_us_and_leads_when_we_die(tmp_path: Path, static: bool) -> None:
    async def scenario() -> None:
        members = Members(tmp_path, 3, static=static)
        ours = [members.all[1], members.all[2]]
        with controllers(members, tmp_path, static=static, nodes=(3,)):
            await asyncio.gather(*(member.start() for member in ours))
            leader = await members.leader()
            other = next(member for member in ours if member is not leader)
            role = leader.quorum._machine.member.role
            assert isinstance(role, LeaderState)
            await leader.quorum.append(bootstrap_values())  # Kafka serves once these are there
            port = members.all[3].config.endpoints[0].port
            await eventually(lambda: accepts(port), START_SECONDS_MAX)
            first = await leader.quorum.append([NO_OP] * 3)
            await eventually(lambda: reached(role, 3) >= first + 3)
            await leader.die()

            # Kafka's leader writes by itself; ours, once it may write, is asked to.
            def told() -> bool:
                return other.memory.values.count(NO_OP) > 3

            await eventually(lambda: other.quorum.is_leader or told(), 30)
            if other.quorum.is_leader:
                await asyncio.wait_for(other.quorum.append([NO_OP]), 20)
            await eventually(told, 30)
            await other.stop()

    asyncio.run(scenario())
