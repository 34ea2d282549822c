"""The configuration reference, drawn from the option table: `python -m ottla.config.reference`.

`docs/configuration.md` is what this prints; a test fails when the two differ.
"""

from collections.abc import Iterable, Mapping

from ottla.config.options import (
    BROKER_OPTIONS,
    CLIENT_METRICS_OPTIONS,
    GROUP_OPTIONS,
    TOPIC_OPTIONS,
    Option,
)

_INTRODUCTION = """\
# Configuration

Ottla reads Apache Kafka's `server.properties` as it is: `ottla start server.properties`. Single
options can be set on the command line with `--set name=value`, which wins over the file. An
unknown name is a warning; a bad value is an error that names file, line and option.

Every option of Apache Kafka 4.3 is known here, with the same default, so that a file,
`kafka-configs` and DescribeConfigs mean the same for both. Those marked *no effect* are checked and
answered but change nothing: they size Java's threads and buffers (one event loop serves a node), or
belong to what is not here (tiered storage, classes in Java), or set limits and intervals that are
fixed here. `ottla start` names those of them that are set to something other than the default. What
would leave a node less safe than its file says is refused at the start (see
[security](security.md)), and tiered storage cannot be turned on.

"Change" says how an option can be changed while brokers run: in the file only, for each broker, or
for the whole cluster at once. This page is generated from the option table.
"""
_CHANGE = {"read-only": "in the file", "per-broker": "each broker", "cluster-wide": "cluster"}


def render() -> str:
    parts = [
        _INTRODUCTION,
        _section("Broker options", BROKER_OPTIONS, ("Option", "Default", "Accepts", "Change")),
        _section("Topic options", TOPIC_OPTIONS, ("Option", "Default", "Accepts", "Broker option")),
        _section("Group options", GROUP_OPTIONS, ("Option", "Default", "Accepts", "Broker option")),
        _section(
            "Client metrics options",
            CLIENT_METRICS_OPTIONS,
            ("Option", "Default", "Accepts", "Broker option"),
        ),
    ]
    return "\n".join(parts)


def _section(title: str, options: Mapping[str, Option], columns: Iterable[str]) -> str:
    head = [*columns, "What it is for"]
    lines = [f"## {title}", "", _row(head), _row(["---"] * len(head))]
    for option in options.values():
        if option.internal:
            continue
        last = (
            _CHANGE[option.update.value]
            if options is BROKER_OPTIONS
            else ", ".join(f"`{name}`" for name in option.synonyms)
        )
        cells = [f"`{option.name}`", _default(option), _accepts(option), last, _purpose(option)]
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _purpose(option: Option) -> str:
    return f"{option.doc} *No effect.*" if option.ignored else option.doc


def _default(option: Option) -> str:
    if option.required:
        return "must be set"
    return f"`{option.default}`" if option.default else ""


def _accepts(option: Option) -> str:
    accepts = option.accepts.lstrip("~")
    if accepts in ("-", "some"):
        return option.kind.name.lower()
    if accepts == "replicas":
        return "list of PARTITION:BROKER, or *"
    if accepts == "limits":
        return "list of HOST:COUNT"
    if accepts == "reset":
        return "latest, earliest, by_duration:…"
    if ".." not in accepts:
        return accepts.replace("|", ", ")
    span, _, beside = accepts.partition("|")
    least, _, most = span.partition("..")
    text = f"{least} to {most}" if most else f"{least} or more"
    return f"{text}, or {beside}" if beside else text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(render(), end="")
