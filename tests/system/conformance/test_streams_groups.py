"""StreamsGroupHeartbeat and StreamsGroupDescribe as no client would send them."""

import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic

STALE_TOPOLOGY, MISSING_SOURCES, BADLY_PARTITIONED, MISSING_INTERNAL, SHUTDOWN, DELAYED = range(6)
LEFT_OUT = (
    *("topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint"),
    *("client_tags", "task_offsets", "task_end_offsets", "instance_id", "rack_id"),
)


def topic_info(name: str, partitions: int = 0) -> dict[str, Any]:
    configs = [{"key": "cleanup.policy", "value": "compact"}]
    return {
        "name": name,
        "partitions": partitions,
        "replication_factor": 0,
        "topic_configs": configs,
    }


def subtopology(id: str = "0", *sources: str, **lists: list[Any]) -> dict[str, Any]:
    empty: dict[str, list[Any]] = {
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    return {"subtopology_id": id, "source_topics": list(sources), **empty, **lists}


def together(*sources: int) -> dict[str, list[int]]:
    return {
        "source_topics": list(sources),
        "source_topic_regex": [],
        "repartition_source_topics": [],
    }


class Group:
    """A streams group whose coordinator is up."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.id = f"raw-{uuid.uuid4().hex[:10]}"
        self.topology: dict[str, Any] = {"epoch": 0, "subtopologies": []}

        def found() -> bool:
            reply = connection.ask("find_coordinator", 3, key=self.id, key_type=0)
            known = self.beat("nobody", 1).error_code
            return (reply.error_code, known) == (ErrorCode.none, ErrorCode.group_id_not_found)

        wait_until(found)

    def beat(self, member: str, epoch: int, **fields: Any) -> Any:
        request = {
            **dict.fromkeys(LEFT_OUT),
            "group_id": self.id,
            "member_id": member,
            "member_epoch": epoch,
            "endpoint_information_epoch": -1,
            "rebalance_timeout": -1,
            "shutdown_application": False,
            **fields,
        }
        return self.connection.ask("streams_group_heartbeat", 0, **request)

    def join(self, member: str, **fields: Any) -> Any:
        default = {
            "rebalance_timeout": 60_000,
            "topology": self.topology,
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "process_id": f"process of {member}",
            "client_tags": [],
        }
        return self.beat(member, 0, **{**default, **fields})

    def joined(self, member: str) -> Any:
        """The first answer with tasks and nothing to complain about."""
        reply = self.join(member)
        assert reply.error_code == ErrorCode.none, reply.error_message
        tasks = reply.active_tasks

        def ready() -> bool:
            nonlocal reply, tasks
            reply = self.beat(member, reply.member_epoch)
            assert reply.error_code == ErrorCode.none, reply.error_message
            tasks = reply.active_tasks if reply.active_tasks is not None else tasks
            return bool(tasks) and not reply.status

        wait_until(ready)
        return reply

    def describe(self) -> Any:
        asked = {"group_ids": [self.id], "include_authorized_operations": False}
        return self.connection.ask("streams_group_describe", 0, **asked).groups[0]


def codes(reply: Any) -> set[int]:
    return {status.status_code for status in reply.status}


@pytest.fixture
def group(connection: Connection, make_raw_topic: MakeRawTopic) -> Group:
    """Its topology reads a topic of two partitions and has a state."""
    made = Group(connection)
    source = make_raw_topic(2).name
    counting = subtopology("0", source, state_changelog_topics=[topic_info(f"{made.id}-changelog")])
    made.topology = {"epoch": 0, "subtopologies": [counting]}
    return made


@pytest.mark.parametrize(
    "fields",
    [
        {"rebalance_timeout": -1},
        {"topology": None},
        {"active_tasks": [{"subtopology_id": "0", "partitions": [0]}]},
        {"active_tasks": None},
        {"instance_id": "static"},
        {"task_offsets": []},
        {"task_end_offsets": []},
        {"warmup_tasks": [{"subtopology_id": "0", "partitions": [0]}]},
        {"rack_id": ""},
        {"member_id": ""},
        {"group_id": ""},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": 1},
    ],
    ids=lambda fields: "-".join(f"{name}" for name in fields),
)
def test_a_bad_join_is_refused(group: Group, fields: dict[str, Any]) -> None:
    assert group.join("a", **fields).error_code == ErrorCode.invalid_request


@pytest.mark.parametrize(
    "part",
    [
        subtopology("0", "__consumer_offsets"),
        subtopology("0", "no topic's name"),
        subtopology("0", "SOURCE", state_changelog_topics=[topic_info("changelog", 3)]),
        subtopology("0", "SOURCE", repartition_source_topics=[topic_info("repartition")]),
    ],
    ids=["internal", "illegal-name", "sized-changelog", "nothing-flows-in"],
)
def test_an_invalid_topology_is_refused(group: Group, part: dict[str, Any]) -> None:
    (source,) = group.topology["subtopologies"][0]["source_topics"]
    sources = [source if name == "SOURCE" else name for name in part["source_topics"]]
    topology = {"epoch": 0, "subtopologies": [{**part, "source_topics": sources}]}
    reply = group.join("a", topology=topology)
    assert reply.error_code == ErrorCode.streams_invalid_topology


def test_missing_sources_are_told(group: Group) -> None:
    group.topology = {"epoch": 0, "subtopologies": [subtopology("0", f"{group.id}-none")]}
    reply = group.join("a")
    assert reply.error_code == ErrorCode.none
    assert MISSING_SOURCES in codes(reply)
    assert (reply.active_tasks, reply.standby_tasks, reply.warmup_tasks) == ((), (), ())
    assert group.describe().group_state == "NotReady"


def test_sources_that_are_joined_must_be_equally_large(
    group: Group, make_raw_topic: MakeRawTopic
) -> None:
    sources = [make_raw_topic(count).name for count in (2, 3)]
    joined = subtopology("0", *sources, copartition_groups=[together(0, 1)])
    group.topology = {"epoch": 0, "subtopologies": [joined]}
    assert BADLY_PARTITIONED in codes(group.join("a"))


def test_the_first_member_gets_all_tasks_and_its_changelog(group: Group) -> None:
    first = group.join("a")
    assert (first.error_code, first.member_epoch) == (ErrorCode.none, 1)
    assert {DELAYED, MISSING_INTERNAL} == codes(first)
    group.joined("a")
    shown = group.describe()
    assert shown.group_state == "Stable"
    assert shown.group_epoch == shown.assignment_epoch == shown.members[0].member_epoch
    (active,) = shown.members[0].assignment.active_tasks
    assert (active.subtopology_id, sorted(active.partitions)) == ("0", [0, 1])
    (part,) = shown.topology.subtopologies
    (changelog,) = part.state_changelog_topics
    assert (changelog.name, changelog.partitions) == (f"{group.id}-changelog", 2)


def test_epochs_and_tasks_are_checked(group: Group) -> None:
    epoch = group.joined("a").member_epoch
    assert group.beat("a", epoch + 1).error_code == ErrorCode.fenced_member_epoch
    assert group.beat("b", epoch).error_code == ErrorCode.unknown_member_id
    for tasks in (
        {"subtopology_id": "9", "partitions": [0]},
        {"subtopology_id": "0", "partitions": [7]},
    ):
        reply = group.beat("a", epoch, active_tasks=[tasks], standby_tasks=[], warmup_tasks=[])
        assert reply.error_code == ErrorCode.invalid_request
    reply = group.beat("a", epoch, topology=group.topology)
    assert reply.error_code == ErrorCode.invalid_request
    reply = group.beat("a", epoch, active_tasks=[])
    assert reply.error_code == ErrorCode.invalid_request


def test_a_different_topology_is_refused_and_an_older_one_is_told(group: Group) -> None:
    group.topology["epoch"] = 1
    group.joined("a")
    (source,) = group.topology["subtopologies"][0]["source_topics"]
    other = {"epoch": 1, "subtopologies": [subtopology("0", source)]}
    assert group.join("b", topology=other).error_code == ErrorCode.invalid_request
    newer = {**group.topology, "epoch": 2}
    assert group.join("b", topology=newer).error_code == ErrorCode.invalid_request
    older = {**other, "epoch": 0}
    assert STALE_TOPOLOGY in codes(group.join("b", topology=older))


def test_a_shutdown_is_told_to_the_others(group: Group) -> None:
    group.join("a")
    other = group.join("b")
    assert group.beat("a", -1, shutdown_application=True).error_code == ErrorCode.none
    assert SHUTDOWN in codes(group.beat("b", other.member_epoch))


def test_other_protocols_do_not_enter(connection: Connection, group: Group) -> None:
    group.join("a")
    consumer = connection.ask(
        "consumer_group_heartbeat",
        1,
        group_id=group.id,
        member_id="c",
        member_epoch=0,
        rebalance_timeout=5000,
        subscribed_topic_names=["t"],
        subscribed_topic_regex=None,
        topic_partitions=[],
    )
    assert consumer.error_code == ErrorCode.group_id_not_found
    classic = connection.ask(
        "join_group",
        9,
        group_id=group.id,
        session_timeout=10_000,
        rebalance_timeout=10_000,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b""}],
    )
    assert classic.error_code == ErrorCode.inconsistent_group_protocol
    old = connection.ask("heartbeat", 4, group_id=group.id, member_id="a", generation_id=1)
    assert old.error_code == ErrorCode.unknown_member_id


def test_offsets_are_committed_and_fetched_in_the_members_epoch(
    connection: Connection, group: Group
) -> None:
    epoch = group.joined("a").member_epoch
    (source,) = group.topology["subtopologies"][0]["source_topics"]

    def commit(member: str, generation: int, version: int = 9) -> ErrorCode:
        part = {
            "partition_index": 0,
            "committed_offset": 5,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        reply = connection.ask(
            "offset_commit",
            version,
            group_id=group.id,
            member_id=member,
            generation_id_or_member_epoch=generation,
            topics=[{"name": source, "partitions": [part]}],
        )
        return reply.topics[0].partitions[0].error_code

    assert commit("a", epoch) == ErrorCode.none
    assert commit("a", epoch, version=8) == ErrorCode.unsupported_version
    assert commit("a", epoch + 1) == ErrorCode.stale_member_epoch
    assert commit("a", 1) == ErrorCode.stale_member_epoch
    assert commit("x", epoch) == ErrorCode.unknown_member_id
    assert commit("", -1) == ErrorCode.unknown_member_id

    def fetch(member: str | None, generation: int) -> ErrorCode:
        asked = {"group_id": group.id, "member_id": member, "member_epoch": generation}
        reply = connection.ask("offset_fetch", 9, groups=[{**asked, "topics": None}])
        return reply.groups[0].error_code

    assert fetch("a", epoch) == ErrorCode.none
    assert fetch(None, -1) == ErrorCode.none
    assert fetch("a", epoch - 1) == ErrorCode.stale_member_epoch
    assert fetch("x", epoch) == ErrorCode.unknown_member_id


def test_it_is_listed_and_deleted_when_it_is_empty(connection: Connection, group: Group) -> None:
    group.joined("a")
    listed = connection.ask("list_groups", 5, states_filter=[], types_filter=["streams"]).groups
    (shown,) = (one for one in listed if one.group_id == group.id)
    assert (shown.protocol_type, shown.group_type, shown.group_state) == (
        "streams",
        "streams",
        "Stable",
    )

    def delete() -> ErrorCode:
        return connection.ask("delete_groups", 2, groups_names=[group.id]).results[0].error_code

    assert delete() == ErrorCode.non_empty_group
    left = group.beat("a", -1)
    assert (left.error_code, left.member_epoch) == (ErrorCode.none, -1)
    assert group.beat("a", -1).error_code == ErrorCode.unknown_member_id
    assert group.describe().group_state == "Empty"
    assert delete() == ErrorCode.none
    gone = group.describe()
    assert (gone.error_code, gone.group_state) == (ErrorCode.group_id_not_found, "")


def test_it_is_advertised(connection: Connection) -> None:
    reply = connection.ask("api_versions", 4, client_software_name="x", client_software_version="1")
    served = {api.api_key: (api.min_version, api.max_version) for api in reply.api_keys}
    assert (served[88], served[89]) == ((0, 0), (0, 0))
