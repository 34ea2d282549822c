"""What clients did and saw, judged in the manner of Jepsen's Kafka workload.

Pure: a history of operations in, anomalies out. An operation sends values to keys and polls keys
(a key is a partition), alone or as a transaction. Every value is sent once. An operation is `OK`,
`FAIL` (it certainly had no effect) or `INFO` (nobody knows). The history ends with a read of
everything. What Kafka allows is not counted: write cycles, gaps between a transaction's own sends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

Key = str
Value = int


class Outcome(Enum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Send(NamedTuple):
    key: Key
    value: Value
    offset: int | None = None  # None: not told


class Poll(NamedTuple):
    records: Mapping[Key, tuple[tuple[int, Value], ...]]  # offset and value, as they came


class Op(NamedTuple):
    process: int
    steps: tuple[Send | Poll, ...]
    outcome: Outcome = Outcome.OK
    assigned: int = 0
    """Which assignment the polls go on from: another number is a fresh start. Under a
    subscription, where partitions come and go, every operation has its own."""
    told: frozenset[str] = frozenset()
    """The errors that its client was told, by name."""

    def sends(self) -> Iterator[Send]:
        return (step for step in self.steps if isinstance(step, Send))

    def polled(self) -> Iterator[tuple[Key, int, Value]]:
        for step in self.steps:
            if isinstance(step, Poll):
                for key, records in step.records.items():
                    for offset, value in records:
                        yield key, offset, value


Anomalies = dict[str, list[str]]


class History:
    """A history with what follows from all of it: who read what, and where it lies."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        self.writer: dict[tuple[Key, Value], Op] = {}
        self.read: defaultdict[Key, dict[int, set[Value]]] = defaultdict(lambda: defaultdict(set))
        self.values_read: defaultdict[Key, set[Value]] = defaultdict(set)
        self.told: defaultdict[Key, dict[int, set[Value]]] = defaultdict(lambda: defaultdict(set))
        for op in ops:
            for send in op.sends():
                self.writer[send.key, send.value] = op
                if send.offset is not None and op.outcome is not Outcome.FAIL:
                    self.told[send.key][send.offset].add(send.value)
            for key, offset, value in op.polled():
                self.read[key][offset].add(value)
                self.values_read[key].add(value)

    def is_seen_in_part(self, op: Op) -> bool:
        return any(send.value in self.values_read[send.key] for send in op.sends())

    def offsets_read_between(self, key: Key, low: int, high: int) -> list[int]:
        return sorted(offset for offset in self.read[key] if low < offset < high)


def check(ops: Sequence[Op]) -> Anomalies:
    """The anomalies found, by name; an empty answer is a clean history."""
    history = History(ops)
    found: Anomalies = {}
    for name, finder in FINDERS.items():
        problems = list(finder(history))
        if problems:
            found[name] = problems
    return found


# --- what clients are told

NEVER_RIGHT = {
    "INVALID_TXN_STATE",
    "INVALID_PRODUCER_ID_MAPPING",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "UNKNOWN_PRODUCER_ID",
    "TRANSACTION_ABORTABLE",
}
"""To one producer of its own name that does one thing after another, whatever befalls brokers."""


def wrong_refusals(history: History) -> Iterator[str]:
    """Clients take these for final, and Kafka does not say them in such a place."""
    for op in history.ops:
        for name in sorted(op.told & NEVER_RIGHT):
            yield f"process {op.process} was told {name}"


# --- where values lie


def inconsistent_offsets(history: History) -> Iterator[str]:
    """Two values at one offset, as told by acknowledgements and polls."""
    for key in sorted({*history.read, *history.told}):
        for offset in sorted({*history.read[key], *history.told[key]}):
            values = history.read[key].get(offset, set()) | history.told[key].get(offset, set())
            if len(values) > 1:
                yield f"{key} at {offset} is {sorted(values)}"


def duplicates(history: History) -> Iterator[str]:
    """One value at two offsets."""
    for key, offsets in history.read.items():
        places: defaultdict[Value, list[int]] = defaultdict(list)
        for offset, values in offsets.items():
            for value in values:
                places[value].append(offset)
        for value, where in places.items():
            if len(where) > 1:
                yield f"{key} has {value} at {sorted(where)}"


def lost_writes(history: History) -> Iterator[str]:
    """Acknowledged, or known to be committed in part, and passed over by who read beyond."""
    for op in history.ops:
        committed = op.outcome is Outcome.OK or (
            op.outcome is Outcome.INFO and history.is_seen_in_part(op)
        )
        for send in op.sends() if committed else ():
            if send.value in history.values_read[send.key]:
                continue
            last = max(history.read[send.key], default=-1)
            if op.outcome is Outcome.INFO or (send.offset is not None and send.offset < last):
                yield f"{send.value} was sent to {send.key} at {send.offset} and is gone"


def unseen(history: History) -> Iterator[str]:
    """Acknowledged beyond the last record that anybody read, though all was read at the end."""
    for op in history.ops:
        for send in op.sends() if op.outcome is Outcome.OK else ():
            last = max(history.read[send.key], default=-1)
            never = send.value not in history.values_read[send.key]
            if never and (send.offset is None or send.offset >= last):
                yield f"{send.value} was sent to {send.key} at {send.offset} and never read"


# --- what must not be seen


def aborted_reads(history: History) -> Iterator[str]:
    for op in history.ops:
        for send in op.sends() if op.outcome is Outcome.FAIL else ():
            if send.value in history.values_read[send.key]:
                yield f"{send.value} in {send.key} was never committed, and read"


def precommitted_reads(history: History) -> Iterator[str]:
    """An operation that reads what it is about to commit."""
    for op in history.ops:
        own = {(send.key, send.value) for send in op.sends()}
        for key, _, value in op.polled():
            if (key, value) in own:
                yield f"process {op.process} read its own {value} in {key} before it committed"


# --- order


def nonmonotonic_sends(history: History) -> Iterator[str]:
    """A process's later values lie behind its earlier ones, across operations and within."""
    last: dict[tuple[int, Key], Send] = {}
    for op in history.ops:
        if op.outcome is not Outcome.OK:
            continue
        for send in op.sends():
            before = last.get((op.process, send.key))
            if send.offset is None:
                continue
            if before is not None and before.offset is not None and send.offset <= before.offset:
                yield f"process {op.process} sent {before} and then {send}"
            last[op.process, send.key] = send


def polls(op: Op) -> Mapping[Key, list[int]]:
    """Offsets per key in the order in which an operation saw them."""
    seen: defaultdict[Key, list[int]] = defaultdict(list)
    for key, offset, _ in op.polled():
        seen[key].append(offset)
    return seen


def steps_of(history: History, *, within: bool) -> Iterator[tuple[Op, Key, int, int]]:
    """One polled offset and the next of the same key: within operations, or from one to another."""
    last: dict[tuple[int, Key], tuple[int, int]] = {}  # (assignment, offset)
    for op in history.ops:
        for key, offsets in polls(op).items():
            if within:
                for one, other in pairwise(offsets):
                    yield op, key, one, other
                continue
            before = last.get((op.process, key))
            if before is not None and before[0] == op.assigned:
                yield op, key, before[1], offsets[0]
            last[op.process, key] = op.assigned, offsets[-1]


def skips(history: History, *, within: bool) -> Iterator[str]:
    for op, key, one, other in steps_of(history, within=within):
        passed = history.offsets_read_between(key, one, other)
        if passed:
            yield f"process {op.process} read {key} at {one}, then {other}: not {passed}"


def backward(history: History, *, within: bool) -> Iterator[str]:
    for op, key, one, other in steps_of(history, within=within):
        if other <= one:
            yield f"process {op.process} read {key} at {one}, then {other}"


# --- cycles


def read_cycles(history: History) -> Iterator[str]:
    """G1c: operations that each saw what another of them wrote, in a ring (wr edges only)."""
    number = {id(op): n for n, op in enumerate(history.ops)}
    after: defaultdict[int, set[int]] = defaultdict(set)
    for op in history.ops:
        for key, _, value in op.polled():
            writer = history.writer.get((key, value))
            if writer is not None and writer is not op:
                after[number[id(writer)]].add(number[id(op)])
    for ring in rings(after):
        yield f"operations {sorted(ring)} read each other's writes"


def rings(after: Mapping[int, Iterable[int]]) -> Iterator[set[int]]:
    """Strongly connected components of more than one node (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in list(after):
        if root in order:
            continue
        work = [(root, iter(after.get(root, ())))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, children = work[-1]
            for child in children:
                if child not in order:
                    order[child] = low[child] = len(order)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(after.get(child, ()))))
                    break
                if child in on_stack:
                    low[node] = min(low[node], order[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    ring = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        ring.add(member)
                        if member == node:
                            break
                    if len(ring) > 1:
                        yield ring


FINDERS = {
    "wrong-refusal": wrong_refusals,
    "inconsistent-offsets": inconsistent_offsets,
    "duplicate": duplicates,
    "lost-write": lost_writes,
    "unseen": unseen,
    "G1a": aborted_reads,
    "precommitted-read": precommitted_reads,
    "nonmonotonic-send": nonmonotonic_sends,
    "int-poll-skip": lambda history: skips(history, within=True),
    "poll-skip": lambda history: skips(history, within=False),
    "int-nonmonotonic-poll": lambda history: backward(history, within=True),
    "nonmonotonic-poll": lambda history: backward(history, within=False),
    "G1c": read_cycles,
}
