"""The state of a cluster in sums and words, and as JSON for scripts and pages."""

from collections import Counter

from ottla.client.cluster_state import Broker, ClusterState, Partition


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
