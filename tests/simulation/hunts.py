"""All mutants, each with the world that must show it."""

from ottla.simulation.cluster.world import COPIED
from ottla.simulation.groups.streams_member import StreamsMember
from ottla.simulation.groups.world import KINDS
from ottla.simulation.runs import World
from simulation import group_mutants, mutants, transaction_mutants
from simulation.cluster_mutants import CLUSTER_MUTANTS
from simulation.counting_mutants import COUNTING_MUTANTS
from simulation.hunting import Hunt

COORDINATORS = {
    f"{kind}-{mutant.__name__}": mutant
    for kind, known in (
        ("groups", group_mutants.MUTANTS),
        ("transactions", transaction_mutants.MUTANTS),
    )
    for mutant in known
}
FOUND_BY_COPIES = [
    "groups-coordinators_answer_before_their_log_is_committed",
    "groups-offsets_expire_while_they_are_loaded",
    "groups-old_epochs_may_commit",
    "groups-partitions_are_given_while_another_still_has_them",
    "groups-sessions_do_not_survive_a_move_of_the_coordinator",
    "groups-sessions_end_at_once_after_a_move_of_the_coordinator",
    "groups-time_outs_are_forgotten",
    "groups-zombies_may_commit_in_transactions",
    "transactions-everything_committed_by_replicas_is_stable",
    "transactions-the_stable_offset_is_one_too_far",
    "transactions-aborted_transactions_are_forgotten_by_recovery",
    "transactions-a_new_leader_knows_no_sequences",
    "transactions-sequences_are_not_checked",
    "transactions-partitions_count_without_being_added",
    "transactions-coordinators_answer_before_their_log_is_committed",
    "transactions-verified_is_what_is_not_committed_yet",
    "transactions-zombies_may_end_transactions",
    "transactions-zombies_may_write",
    "transactions-nobody_is_fenced_by_a_successor",
]

OF_CLUSTERS = [
    Hunt(World.CLUSTER, mutant.__name__, mutant) for mutant in (*CLUSTER_MUTANTS, *COUNTING_MUTANTS)
]
OF_COPIES = [
    Hunt(World.CLUSTER, name, COORDINATORS[name], modulus=COPIED) for name in FOUND_BY_COPIES
]
OF_QUORUMS = [Hunt(World.QUORUM, mutant.__name__, mutant) for mutant in mutants.MUTANTS]
OF_GROUPS = [
    *(Hunt(World.GROUPS, mutant.__name__, mutant) for mutant in group_mutants.MUTANTS),
    *(
        Hunt(World.GROUPS, mutant.__name__, mutant, len(KINDS), KINDS.index([StreamsMember]))
        for mutant in group_mutants.STREAMS_MUTANTS
    ),
]
OF_TRANSACTIONS = [
    Hunt(World.TRANSACTIONS, mutant.__name__, mutant) for mutant in transaction_mutants.MUTANTS
]
ALL = [*OF_CLUSTERS, *OF_COPIES, *OF_QUORUMS, *OF_GROUPS, *OF_TRANSACTIONS]
