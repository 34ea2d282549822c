"""The state of a cluster, drawn for people and told to scripts."""

from collections import Counter

from ottla.cli.output import out, print_table
from ottla.cli.sizes import show_bytes
from ottla.client.cluster_state import Broker, ClusterState, Partition

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


def as_json(state: ClusterState) -> dict[str, object]:
    counts, quorum = Counts(state), state.quorum
    return {
        "cluster": state.cluster_id,
        "quorum": {
            "leader": quorum.leader,
            "epoch": quorum.epoch,
            "committed": quorum.committed,
            "members": [
                {"node": one.id, "voter": one.is_voter, "lag": quorum.lag(one)}
                for one in quorum.members
            ],
        },
        "brokers": [
            {
                "node": one.id,
                "address": "{}:{}".format(*one.address),
                "rack": one.rack,
                "state": word_for(one),
                "leads": counts.leads[one.id],
                "replicas": counts.replicas[one.id],
                "bytes": counts.size[one.id],
                "not_in_sync": counts.behind[one.id],
                "lag": counts.lag[one.id],
            }
            for one in state.brokers
        ],
        "partitions": len(state.partitions),
        "under_replicated": [
            {
                "topic": one.topic,
                "partition": one.partition,
                "leader": one.leader if one.leader >= 0 else None,
                "replicas": list(one.replicas),
                "in_sync": list(one.in_sync),
                "lag": {str(node): lag for node, lag in lags(one).items()},
            }
            for one in state.partitions
            if one.is_under_replicated
        ],
        "moving": [{"topic": topic, "partition": partition} for topic, partition in state.moving],
    }


class Counts:
    """Sums for each broker."""

    def __init__(self, state: ClusterState) -> None:
        self.leads: Counter[int] = Counter()
        self.replicas: Counter[int] = Counter()
        self.size: Counter[int] = Counter()
        self.behind: Counter[int] = Counter()
        self.lag: Counter[int] = Counter()
        for one in state.partitions:
            self.leads[one.leader] += 1
            for node in one.replicas:
                self.replicas[node] += 1
                self.size[node] += one.sizes.get(node, 0)
                self.behind[node] += node not in one.in_sync
                self.lag[node] += one.lag(node) or 0


def lags(one: Partition) -> dict[int, int]:
    """Of the replicas that are not in sync and can be asked."""
    return {
        node: lag
        for node in one.replicas
        if node not in one.in_sync and (lag := one.lag(node)) is not None
    }


def word_for(broker: Broker) -> str:
    if broker.is_fenced:
        return "fenced"
    return "up" if broker.answers else "silent"
