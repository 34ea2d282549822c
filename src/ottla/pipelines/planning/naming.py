"""What the stages of operators are called: after what they are, never where they stand. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.pipelines.api.definitions import Node
from ottla.pipelines.planning.signatures import signature, title


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What runs already, as far as it decides where the new code is cut.

    A state stays where it is: one that several sinks share now, but that a sink's own stage keeps,
    is left there, and one that has a topic of its own keeps it when only one sink is left.
    """

    fused: frozenset[str] = frozenset()  # sinks whose own stage keeps the state
    # Of intermediate stages, by signature: their names, and the sinks each of them leads to.
    names: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()  # names of intermediate stages
    # Stages that carry a topic's dead letters.
    dead: Mapping[str, str] = field(default_factory=dict)


def stage_names(
    application: str, leads_to: Mapping[Node, str], before: Before
) -> Mapping[Node, str]:
    """The name of each operator's stage, given the sink that it leads to.

    Those with the same title are told apart by their sinks. One that is exactly what runs already
    keeps the name it has there, whoever else has come to share its title.
    """
    marks = {node: signature(node) for node in leads_to}
    titles = {node: title(application, node) for node in leads_to}
    shared = Counter(titles.values())
    alike = Counter(marks.values())
    found: dict[Node, str] = {}
    for node, sink in leads_to.items():
        name = titles[node]
        if shared[name] > 1:
            name = f"{name}-for-{sink}"
        known = before.names.get(marks[node], {})
        its = [other for other, leads in known.items() if sink in leads]
        if name not in known and len(its or known) == 1 and (its or alike[marks[node]] == 1):
            [name] = its or known
        found[node] = name
    for base in (name for name, count in shared.items() if count > 1 and name in before.internal):
        unknown = [
            node for node in leads_to if titles[node] == base and found[node] not in before.internal
        ]
        if base not in found.values() and len(unknown) == 1:
            found[unknown[0]] = base  # it was changed as another came to share its title
    return _unique(found)


def _unique(names: Mapping[Node, str]) -> dict[Node, str]:
    """Operators of one title that lead to the same sink are numbered, as they stand in it."""
    seen: Counter[str] = Counter()
    result = {}
    for node, name in names.items():
        seen[name] += 1
        result[node] = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return result
