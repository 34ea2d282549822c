"""What the workers of one host have in common, and what tells them apart."""

from pathlib import Path

import pytest

from ottla.cli.start import Start, parse
from ottla.cli.workers import plan_workers
from ottla.config import Settings
from ottla.config.load import load, single_node
from ottla.config.properties import render_properties
from ottla.errors import OttlaError


def settings(*assignments: str, data: Path = Path("/data")) -> Settings:
    return load(None, listen=("127.0.0.1", 9092), data=data, assignments=assignments).settings


def planned(given: Settings, count: int) -> list[Settings]:
    return [Settings({**given.static, **plan}) for plan in plan_workers(given, count, "host-a", 7)]


def test_the_first_worker_is_the_node_of_the_file_with_a_controller_that_can_be_found() -> None:
    first, *_ = planned(settings(), 2)
    assert first.topology.node_id == 1
    assert first.topology.is_controller
    assert first.topology.log_dirs == (Path("/data"),)
    assert first.topology.controller_listeners[0].port == 7


def test_the_others_are_brokers_with_the_next_ids_ports_and_directories() -> None:
    _, *others = planned(settings(), 3)
    assert [each.topology.node_id for each in others] == [2, 3]
    assert [each.topology.listeners[0].port for each in others] == [9093, 9094]
    assert [each.topology.advertised[0].port for each in others] == [9093, 9094]
    assert [each.topology.log_dirs for each in others] == [
        (Path("/data.worker2"),),
        (Path("/data.worker3"),),
    ]
    assert {each.topology.is_controller for each in others} == {False}
    assert {each.topology.bootstrap_controllers for each in others} == {(("127.0.0.1", 7),)}


def test_all_stand_in_the_rack_of_their_host_unless_the_file_names_one() -> None:
    assert {each.text("broker.rack") for each in planned(settings(), 3)} == {"host-a"}
    given = settings("broker.rack=r1")
    assert {each.text("broker.rack") for each in planned(given, 2)} == {"r1"}


def test_what_the_file_says_of_the_quorum_holds_for_all() -> None:
    voters = "1@a:9093,11@b:9093,21@c:9093"
    workers = planned(settings(f"controller.quorum.voters={voters}"), 2)
    assert len({each.topology.voters for each in workers}) == 1
    assert workers[1].topology.bootstrap_controllers == ()


def test_ports_that_clients_are_told_move_along() -> None:
    given = settings("advertised.listeners=PLAINTEXT://kafka.example:19092")
    assert planned(given, 2)[1].topology.advertised[0][1:3] == ("kafka.example", 19093)


@pytest.mark.parametrize("count", [0, 65])
def test_a_senseless_number_is_refused(count: int) -> None:
    with pytest.raises(OttlaError, match="--workers"):
        plan_workers(settings(), count, "host", 1)


def test_a_controller_is_not_multiplied() -> None:
    given = settings("process.roles=controller")
    with pytest.raises(OttlaError, match="a controller is one"):
        plan_workers(given, 2, "host", 1)


def test_listen_and_data_beside_a_file_still_give_each_worker_its_own(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(render_properties(single_node(("127.0.0.1", 1), tmp_path / "f"), about="x"))
    asked = Start(str(file), "127.0.0.1:9500", str(tmp_path / "data"), (), "2")
    plans = plan_workers(asked.load().settings, 2, "host", 9600)
    workers = [parse(asked.command(plan)[4:]) for plan in plans]
    found = [worker.load().settings.topology for worker in workers if worker is not None]
    assert [each.listeners[0].port for each in found] == [9500, 9501]
    assert [each.advertised[0].port for each in found] == [9500, 9501]
    assert [each.log_dirs[0].name for each in found] == ["data", "data.worker2"]


@pytest.mark.parametrize(("cordoned", "second"), [("/data", "/data.worker2"), ("*", "*")])
def test_a_directory_that_is_cordoned_is_so_for_every_worker(cordoned: str, second: str) -> None:
    _, other = planned(settings(f"cordoned.log.dirs={cordoned}"), 2)
    assert other.topology.log_dirs == (Path("/data.worker2"),)
    assert other.names("cordoned.log.dirs") == (second,)
