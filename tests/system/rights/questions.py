"""For each API a request that changes nothing, whoever is allowed to ask it.

What is allowed is either a look, or comes to nothing by itself: it is only to be validated, its
target is not there, or a value in it is impossible. Fields of all versions are filled; each version
takes its own.
"""

from system.rights.of_brokers import OF_BROKERS
from system.rights.of_controllers import OF_CONTROLLERS

BOTH = frozenset(
    {
        "create_topics",
        "delete_topics",
        "describe_acls",
        "create_acls",
        "delete_acls",
        "describe_configs",
        "alter_configs",
        "create_partitions",
        "elect_leaders",
        "incremental_alter_configs",
        "alter_partition_reassignments",
        "list_partition_reassignments",
        "alter_client_quotas",
        "alter_user_scram_credentials",
        "describe_quorum",
        "update_features",
        "describe_cluster",
        "unregister_broker",
        "add_raft_voter",
        "remove_raft_voter",
    }
)
"""What controllers are asked, too."""
QUESTIONS = OF_BROKERS + tuple(
    one._replace(name=f"{one.name}, of a controller", at_controller=True)
    for one in (*(one for one in OF_BROKERS if one.api in BOTH), *OF_CONTROLLERS)
)
