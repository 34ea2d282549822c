"""The state of a cluster, drawn for people."""

from ottla.cli.output import out, print_table
from ottla.cli.sizes import show_bytes
from ottla.client.cluster_state import ClusterState
from ottla.client.cluster_summary import Counts, lags, word_for

SHOWN_MAX = 50


def show(state: ClusterState) -> None:
    topics = len({one.topic for one in state.partitions})
    out.print(
        f"Cluster {state.cluster_id}: {len(state.brokers)} brokers, {topics} topics, "
        f"{len(state.partitions)} partitions."
    )
    show_quorum(state)
    show_brokers(state)
    show_under_replicated(state)
    if state.moving:
        out.print(f"{len(state.moving)} partitions are being moved.")


def show_quorum(state: ClusterState) -> None:
    quorum = state.quorum
    roles = {True: "voter", False: "observer"}
    print_table(
        ["node", "role", "log end", "lag"],
        [
            (
                one.id,
                "leader" if one.id == quorum.leader else roles[one.is_voter],
                one.log_end if one.log_end >= 0 else "-",
                lag if (lag := quorum.lag(one)) is not None else "-",
            )
            for one in quorum.members
        ],
        title=f"\nQuorum, epoch {quorum.epoch}",
    )


def show_brokers(state: ClusterState) -> None:
    counts = Counts(state)
    print_table(
        ["node", "address", "rack", "state", "leads", "replicas", "size", "not in sync", "lag"],
        [
            (
                one.id,
                "{}:{}".format(*one.address),
                one.rack or "-",
                word_for(one),
                counts.leads[one.id],
                counts.replicas[one.id],
                show_bytes(counts.size[one.id]),
                counts.behind[one.id],
                counts.lag[one.id],
            )
            for one in state.brokers
        ],
        title="\nBrokers",
    )


def show_under_replicated(state: ClusterState) -> None:
    lacking = [one for one in state.partitions if one.is_under_replicated]
    if not lacking:
        out.print("\nEvery partition has all its replicas in sync.")
        return
    print_table(
        ["topic", "partition", "leader", "replicas", "in sync", "lag"],
        [
            (
                one.topic,
                one.partition,
                one.leader if one.leader >= 0 else "nobody",
                ",".join(map(str, one.replicas)),
                ",".join(map(str, one.in_sync)),
                " ".join(f"{node}: {lag}" for node, lag in lags(one).items()),
            )
            for one in lacking[:SHOWN_MAX]
        ],
        title=f"\nUnder-replicated partitions: {len(lacking)}",
    )
