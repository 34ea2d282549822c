"""Which APIs are served, at which versions, on which listeners; their handlers on first use.

The table is all that a start has to know: a handler and its messages are imported when the first
such request comes. `ApiVersions` answers from the same table, so nothing is registered twice.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Flag
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.errors import KafkaError
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.broker import Broker
    from ottla.broker.context import RequestContext
    from ottla.broker.later import Body, Later

Handle = Callable[[Any, "RequestContext", "Broker"], Message | Awaitable[Message]]
Serve = Callable[[memoryview, int, "RequestContext", "Broker"], "Body | Later | None"]
Refuse = Callable[[Any, KafkaError], Message]


class Listeners(Flag):
    BROKER = 1
    CONTROLLER = 2
    BOTH = 3


class Api(NamedTuple):
    key: int
    name: str
    versions: range
    listeners: Listeners
    module: str


class Handler(NamedTuple):
    """What one API is made of, once imported."""

    api: Api
    request: type[Message]
    response: type[Message]
    handle: Handle | None
    serve: Serve | None  # for the hot ones: bytes in, bytes out; None as its answer is no reply
    refuse: Refuse | None


_TABLE = """
 0 produce                        3-13 broker
 1 fetch                          4-18 broker
 1 fetch                          4-18 controller fetch_quorum
 2 list_offsets                   1-11 broker
 3 metadata                       0-13 broker
 8 offset_commit                  2-10 broker
 9 offset_fetch                   1-10 broker
10 find_coordinator               0-6  broker
11 join_group                     0-9  broker
12 heartbeat                      0-4  broker
13 leave_group                    0-5  broker
14 sync_group                     0-5  broker
15 describe_groups                0-6  broker
16 list_groups                    0-5  broker
18 api_versions                   0-4  both
19 create_topics                  2-7  both
20 delete_topics                  1-6  both
21 delete_records                 0-2  broker
22 init_producer_id               0-5  broker
23 offset_for_leader_epoch        2-4  broker
24 add_partitions_to_txn          0-5  broker
25 add_offsets_to_txn             0-4  broker
26 end_txn                        0-5  broker
27 write_txn_markers              1-2  broker
28 txn_offset_commit              0-5  broker
32 describe_configs               1-4  both
33 alter_configs                  0-2  both
34 alter_replica_log_dirs         1-2  broker
35 describe_log_dirs              1-5  broker
37 create_partitions              0-3  both
42 delete_groups                  0-2  broker
43 elect_leaders                  0-2  both
44 incremental_alter_configs      0-1  both
45 alter_partition_reassignments  0-1  both
46 list_partition_reassignments   0-0  both
47 offset_delete                  0-0  broker
52 vote                           0-2  controller
53 begin_quorum_epoch             0-1  controller
54 end_quorum_epoch               0-1  controller
55 describe_quorum                0-2  both
56 alter_partition                2-3  controller
57 update_features                0-2  both
58 envelope                       0-0  controller
59 fetch_snapshot                 0-1  controller
60 describe_cluster               0-2  both
61 describe_producers             0-0  broker
62 broker_registration            0-4  controller
63 broker_heartbeat               0-2  controller
64 unregister_broker              0-0  both
65 describe_transactions          0-0  broker
66 list_transactions              0-2  broker
67 allocate_producer_ids          0-0  controller
68 consumer_group_heartbeat       0-1  broker
69 consumer_group_describe        0-1  broker
70 controller_registration        0-0  controller
73 assign_replicas_to_dirs        0-0  controller
74 list_config_resources          0-1  broker
75 describe_topic_partitions      0-0  broker
76 share_group_heartbeat          1-1  broker
77 share_group_describe           1-1  broker
78 share_fetch                    1-2  broker
79 share_acknowledge              1-2  broker
80 add_raft_voter                 0-1  both
81 remove_raft_voter              0-0  both
82 update_raft_voter              0-0  controller
83 initialize_share_group_state   0-0  broker
84 read_share_group_state         0-0  broker
85 write_share_group_state        0-1  broker
86 delete_share_group_state       0-0  broker
87 read_share_group_state_summary 0-1  broker
88 streams_group_heartbeat        0-0  broker
89 streams_group_describe         0-0  broker
90 describe_share_group_offsets   0-1  broker
91 alter_share_group_offsets      0-0  broker
92 delete_share_group_offsets     0-0  broker
"""
"""Key, name of the message, versions, listeners; the handler's module where it is named otherwise.

A line whose handler is not there is not served."""


@cache
def apis(listener: Listeners) -> Mapping[int, Api]:
    """What a listener of this kind serves, by key."""
    written = {path.stem for path in Path(__file__).with_name("handlers").glob("*.py")}
    rows = (_parse(line) for line in _TABLE.strip().splitlines())
    return {row.key: row for row in rows if listener in row.listeners and row.module in written}


def _parse(line: str) -> Api:
    key, name, versions, listeners, *module = line.split()
    first, _, last = versions.partition("-")
    return Api(
        int(key),
        name,
        range(int(first), int(last) + 1),
        Listeners[listeners.upper()],
        module[0] if module else name,
    )


@cache
def load(api: Api) -> Handler:
    messages = import_module(f"ottla.wire.messages.{api.name}")
    module = import_module(f"ottla.broker.handlers.{api.module}")
    name = "".join(word.capitalize() for word in api.name.split("_"))
    return Handler(
        api,
        getattr(messages, f"{name}Request"),
        getattr(messages, f"{name}Response"),
        getattr(module, "handle", None),
        getattr(module, "serve", None),
        getattr(module, "refuse", None),
    )
