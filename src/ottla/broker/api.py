"""Every API that is served, one row each: all that is known of it besides what its handler does.

The table is all that a start has to know: a handler and its messages are imported when the first
such request comes. `ApiVersions` answers from it, dispatch asks it who may ask at all, and what the
controller or the quorum answers has its handler from it: nothing is registered twice.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, Flag
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.broker.access import Operation
from ottla.errors import KafkaError
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.transport.context import RequestContext
    from ottla.broker.transport.pending_reply import Body, PendingReply

Handle = Callable[[Any, "RequestContext", Any], Message | Awaitable[Message]]
Serve = Callable[[memoryview, int, "RequestContext", Any], "Body | PendingReply | None"]
"""The last argument is what `broker.services` has for the area."""
Refuse = Callable[[Any, KafkaError], Message]


class Listeners(Flag):
    BROKER = 1
    CONTROLLER = 2
    BOTH = 3


class AnsweredBy(Enum):
    """Who decides. What this node does not, a broker passes on to the quorum's leader."""

    NODE = "node"
    CONTROLLER = "controller"
    QUORUM = "quorum"


class Right(Enum):
    """What the whole request needs: an operation on the cluster, or the handler asks for each
    resource, refuses some and goes on with the rest."""

    NONE = "-"
    RESOURCES = "resources"
    CLUSTER_ACTION = "cluster_action"
    ALTER = "alter"
    ALTER_CONFIGS = "alter_configs"
    DESCRIBE = "describe"
    DESCRIBE_CONFIGS = "describe_configs"


class Quota(Enum):
    """What a request counts for; all but the exempt ones count for the time they take as well."""

    PRODUCE = "produce"
    FETCH = "fetch"
    CONTROLLER_MUTATION = "mutation"
    REQUEST = "request"
    EXEMPT = "exempt"


class Api(NamedTuple):
    key: int
    name: str
    versions: range
    area: str  # of its handler: a folder, and what it is given (`broker.services`)
    listeners: Listeners
    answered_by: AnsweredBy
    right: Right
    quota: Quota

    @property
    def operation(self) -> Operation | None:
        """What one must be allowed to do with the cluster to ask at all."""
        whole = self.right not in (Right.NONE, Right.RESOURCES)
        return Operation[self.right.name] if whole else None

    @property
    def is_passed_on(self) -> bool:
        """A client may ask any broker for it, and another node answers."""
        return self.answered_by is not AnsweredBy.NODE and self.listeners is Listeners.BOTH


class Handler(NamedTuple):
    """What one API is made of, once imported."""

    api: Api
    operation: Operation | None  # the API's, which is computed
    request: type[Message]
    response: type[Message]
    handle: Handle | None
    serve: Serve | None  # for the hot ones: bytes in, bytes out; None as its answer is no reply
    shortcut: Serve | None  # of some requests; None as its answer: it has to go the usual way
    refuse: Refuse | None


_TABLE = """
 0 produce                        3-13  records      broker     node       resources        produce
 1 fetch                          4-18  records      broker     node       resources        fetch
 1 fetch                          4-18  cluster      controller quorum     cluster_action   exempt
 2 list_offsets                   1-11  records      broker     node       resources        request
 3 metadata                       0-13  cluster      broker     node       resources        request
 8 offset_commit                  2-10  groups       broker     node       resources        request
 9 offset_fetch                   1-10  groups       broker     node       resources        request
10 find_coordinator               0-6   cluster      broker     node       resources        request
11 join_group                     0-9   groups       broker     node       resources        request
12 heartbeat                      0-4   groups       broker     node       resources        request
13 leave_group                    0-5   groups       broker     node       resources        request
14 sync_group                     0-5   groups       broker     node       resources        request
15 describe_groups                0-6   groups       broker     node       resources        request
16 list_groups                    0-5   groups       broker     node       resources        request
17 sasl_handshake                 0-1   cluster      both       node       -                request
18 api_versions                   0-4   cluster      both       node       -                request
19 create_topics                  2-7   cluster      both       controller resources        mutation
20 delete_topics                  1-6   cluster      both       controller resources        mutation
21 delete_records                 0-2   records      broker     node       resources        request
22 init_producer_id               0-5   transactions broker     node       resources        request
23 offset_for_leader_epoch        2-4   records      broker     node       resources        request
24 add_partitions_to_txn          0-5   transactions broker     node       resources        request
25 add_offsets_to_txn             0-4   transactions broker     node       resources        request
26 end_txn                        0-5   transactions broker     node       resources        request
27 write_txn_markers              1-2   transactions broker     node       resources        exempt
28 txn_offset_commit              0-5   transactions broker     node       resources        request
29 describe_acls                  1-3   cluster      both       node       describe         request
30 create_acls                    1-3   cluster      both       controller alter            request
31 delete_acls                    1-3   cluster      both       controller alter            request
32 describe_configs               1-4   cluster      both       node       resources        request
33 alter_configs                  0-2   cluster      both       controller resources        request
34 alter_replica_log_dirs         1-2   cluster      broker     node       alter            request
35 describe_log_dirs              1-5   cluster      broker     node       describe         request
36 sasl_authenticate              0-2   cluster      both       node       -                request
37 create_partitions              0-3   cluster      both       controller resources        mutation
38 create_delegation_token        1-3   cluster      both       controller resources        request
39 renew_delegation_token         1-2   cluster      both       controller resources        request
40 expire_delegation_token        1-2   cluster      both       controller resources        request
41 describe_delegation_token      1-3   cluster      broker     node       resources        request
42 delete_groups                  0-2   groups       broker     node       resources        request
43 elect_leaders                  0-2   cluster      both       controller alter            request
44 incremental_alter_configs      0-1   cluster      both       controller resources        request
45 alter_partition_reassignments  0-1   cluster      both       controller alter            request
46 list_partition_reassignments   0-0   cluster      both       controller describe         request
47 offset_delete                  0-0   groups       broker     node       resources        request
48 describe_client_quotas         0-1   cluster      broker     node       describe_configs request
49 alter_client_quotas            0-1   cluster      both       controller alter_configs    request
50 describe_user_scram_credentials 0-0  cluster      broker     node       describe         request
51 alter_user_scram_credentials   0-0   cluster      both       controller alter            request
52 vote                           0-2   cluster      controller quorum     cluster_action   exempt
53 begin_quorum_epoch             0-1   cluster      controller quorum     cluster_action   exempt
54 end_quorum_epoch               0-1   cluster      controller quorum     cluster_action   exempt
55 describe_quorum                0-2   cluster      both       quorum     describe         request
56 alter_partition                2-3   cluster      controller controller cluster_action   exempt
57 update_features                0-2   cluster      both       controller alter            request
58 envelope                       0-0   cluster      controller node       cluster_action   exempt
59 fetch_snapshot                 0-1   cluster      controller quorum     cluster_action   exempt
60 describe_cluster               0-2   cluster      broker     node       -                request
60 describe_cluster               0-2   cluster      controller node       alter            request
61 describe_producers             0-0   records      broker     node       resources        request
62 broker_registration            0-4   cluster      controller controller cluster_action   request
63 broker_heartbeat               0-2   cluster      controller controller cluster_action   request
64 unregister_broker              0-0   cluster      both       controller alter            request
65 describe_transactions          0-0   transactions broker     node       resources        request
66 list_transactions              0-2   transactions broker     node       resources        request
67 allocate_producer_ids          0-0   transactions controller controller cluster_action   request
68 consumer_group_heartbeat       0-1   groups       broker     node       resources        request
69 consumer_group_describe        0-1   groups       broker     node       resources        request
70 controller_registration        0-0   cluster      controller controller cluster_action   request
73 assign_replicas_to_dirs        0-0   cluster      controller controller cluster_action   request
74 list_config_resources          0-1   cluster      broker     node       describe_configs request
75 describe_topic_partitions      0-0   cluster      broker     node       resources        request
76 share_group_heartbeat          1-1   share        broker     node       resources        request
77 share_group_describe           1-1   share        broker     node       resources        request
78 share_fetch                    1-2   share        broker     node       resources        fetch
79 share_acknowledge              1-2   share        broker     node       resources        request
80 add_raft_voter                 0-1   cluster      both       quorum     alter            request
81 remove_raft_voter              0-0   cluster      both       quorum     alter            request
82 update_raft_voter              0-0   cluster      controller quorum     cluster_action   exempt
83 initialize_share_group_state   0-0   share        broker     node       cluster_action   request
84 read_share_group_state         0-0   share        broker     node       cluster_action   request
85 write_share_group_state        0-1   share        broker     node       cluster_action   request
86 delete_share_group_state       0-0   share        broker     node       cluster_action   request
87 read_share_group_state_summary 0-1   share        broker     node       cluster_action   request
88 streams_group_heartbeat        0-0   groups       broker     node       resources        request
89 streams_group_describe         0-0   groups       broker     node       resources        request
90 describe_share_group_offsets   0-1   share        broker     node       resources        request
91 alter_share_group_offsets      0-0   share        broker     node       resources        request
92 delete_share_group_offsets     0-0   share        broker     node       resources        request
"""
"""Key, name of message and handler, versions, area, listeners, who answers, right, quota."""


@cache
def apis(listener: Listeners) -> Mapping[int, Api]:
    """What a listener of this kind serves, by key."""
    rows = (_parse(line) for line in _TABLE.strip().splitlines())
    return {row.key: row for row in rows if listener in row.listeners}


def _parse(line: str) -> Api:
    key, name, versions, area, listeners, answered_by, right, quota = line.split()
    first, _, last = versions.partition("-")
    return Api(
        int(key),
        name,
        range(int(first), int(last) + 1),
        area,
        Listeners[listeners.upper()],
        AnsweredBy(answered_by),
        Right(right),
        Quota(quota),
    )


@cache
def load(api: Api) -> Handler:
    """What another answers needs no module of its own, unless something is done besides."""
    messages = import_module(f"ottla.wire.messages.{api.name}")
    name = "".join(word.capitalize() for word in api.name.split("_"))
    response = getattr(messages, f"{name}Response")
    path = f"ottla.broker.handlers.{api.area}.{api.name}"
    own, forwarded = None, None
    if api.answered_by is not AnsweredBy.NODE:
        from ottla.broker.forwarding import forwarder

        forwarded = forwarder(api.answered_by, response)
    if forwarded is None or find_spec(path):
        own = import_module(path)
    return Handler(
        api,
        api.operation,
        getattr(messages, f"{name}Request"),
        response,
        getattr(own, "handle", forwarded),
        getattr(own, "serve", None),
        getattr(own, "shortcut", None),
        getattr(own, "refuse", None),
    )
