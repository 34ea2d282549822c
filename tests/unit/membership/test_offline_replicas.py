"""Replicas on bad disks: who steps back, in which order, and who stays."""

import os
from errno import EIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.ids import UNASSIGNED_DIRECTORY
from ottla.log.health import DirectoryHealth
from ottla.log.reading import Damage
from ottla.membership.offline_replicas import TURN_S, OfflineReplicas
from ottla.metadata.image import PartitionRegistration
from ottla.replication.partitions import Replica


class World:
    """One replica of a partition of three, on the broker `me`."""

    def __init__(self, me: int) -> None:
        self.node_id = me
        self.now = 100.0
        self.told: list[str | None] = []
        self.walks = 0
        self.log: Any = SimpleNamespace(
            damage=None,
            log_end_offset=50,
            health=DirectoryHealth(Path("/data")),
            truncate_to=lambda offset, now_ms: setattr(self.log, "log_end_offset", offset),
        )
        self.replica: Any = SimpleNamespace(topic_partition="orders-0", log=self.log, lost=None)
        self.has(leader=1, isr=(1, 2, 3))
        self.offline_replicas = OfflineReplicas(
            cast(Any, self),
            cast(Any, self),
            cast(Any, self),
            lambda: self.now,
            lambda: 0,
            lambda: (self.log.damage, self.log.health.full, self.replica.state),
        )

    def has(self, leader: int, isr: tuple[int, ...]) -> None:
        directories = (UNASSIGNED_DIRECTORY,) * 3
        self.replica.state = PartitionRegistration(
            replicas=(1, 2, 3), isr=isr, leader=leader, directories=directories
        )

    def look_after(self, seconds: float) -> str | None:
        self.now += seconds
        self.offline_replicas.look()
        lost: str | None = self.replica.lost
        return lost

    # what it is made of

    def __iter__(self) -> Any:
        self.walks += 1
        return iter([self.replica])

    def settle(self, replica: Replica) -> None:
        pass

    def tell_of(self, replicas: list[Replica]) -> None:
        self.told += [one.lost for one in replicas]


def test_a_replica_on_a_full_disk_steps_back_and_returns_when_there_is_room() -> None:
    world = World(1)
    assert world.look_after(0.0) is None
    world.log.health.full = True
    assert world.look_after(0.5) is not None
    world.log.health.full = False
    assert world.look_after(0.5) is None
    assert [lost is None for lost in world.told] == [False, True]


def test_where_all_disks_are_full_the_last_in_sync_stays() -> None:
    last = World(3)
    last.log.health.full = True
    assert last.look_after(0.0) is None
    assert last.look_after(TURN_S) is None
    last.has(leader=3, isr=(3,))
    assert last.look_after(10 * TURN_S) is None


def test_a_damaged_log_is_cut_once_another_leads() -> None:
    world = World(1)
    world.log.damage = Damage(20)
    assert world.look_after(0.0) is not None
    assert world.look_after(0.5) is not None
    assert world.log.log_end_offset == 50
    world.has(leader=2, isr=(2, 3))
    assert world.look_after(0.5) is None
    assert world.log.log_end_offset == 20
    assert world.log.damage is None


def test_a_log_that_cannot_be_cut_is_told_of_once_and_fails_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(offset: int, now_ms: int) -> None:
        raise OSError(EIO, os.strerror(EIO))

    world = World(1)
    world.log.damage = Damage(20)
    world.look_after(0.0)
    world.has(leader=2, isr=(2, 3))
    world.log.truncate_to = fail
    caplog.clear()
    assert world.look_after(0.5) is not None
    assert world.look_after(0.5) is not None
    assert len(caplog.records) == 1
    assert world.log.health.failure is not None


def test_replicas_that_are_well_are_looked_at_once_until_something_happens() -> None:
    world = World(1)
    world.look_after(0.5)
    walks = world.walks
    assert walks > 0
    world.look_after(0.5)
    assert world.walks == walks
    world.log.damage = Damage(10)
    assert world.look_after(0.5) is not None
    assert world.walks > walks
