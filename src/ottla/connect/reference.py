"""The keys of every connector, drawn from its definitions: `python -m ottla.connect.reference`.

`docs/connect-keys.md` is what this prints; a test fails when the two differ. Connectors of
installed packages are not on the page: `GET /connector-plugins/{plugin}/config` tells theirs.
"""

from collections.abc import Iterable

from ottla.connect import plugins
from ottla.connect.common_keys import SINK, SOURCE
from ottla.connect.connector import Plugin
from ottla.connect.definitions import REQUIRED, Definitions, Key, Kind
from ottla.connect.validation import shown

_INTRODUCTION = """\
# Keys of connectors

Every key that a connector understands, with its default. Names and meanings are those of the
connectors whose class names are listed, so their documentation holds, too; a key of theirs that
is not here is not served. What else a configuration may say: [converters, transforms and
predicates](connect-records.md) have keys below their names, `producer.override.…`,
`consumer.override.…` and `admin.override.…` are for Kafka's clients, `topic.creation.…` for the
topics of a source. A worker answers the same: `GET /connector-plugins/{plugin}/config`. This page
is generated from the definitions.
"""
_COMMON = {"Keys of all sources": SOURCE, "Keys of all sinks": SINK}
_TYPES = {Kind.CLASS: "class", Kind.PASSWORD: "password"}


def render() -> str:
    found = sorted(plugins.PLUGINS, key=lambda one: one.name)
    titles = [*(one.name for one in found), *_COMMON]
    contents = "".join(f"- [{one}](#{one.lower().replace(' ', '-')})\n" for one in titles)
    return "\n".join(
        [
            _INTRODUCTION,
            contents,
            *(_connector(one) for one in found),
            *(_section(title, "", table) for title, table in _COMMON.items()),
        ]
    )


def _connector(plugin: Plugin) -> str:
    names = [f"`{one}`" for one in plugin.classes if "." in one]
    own: Definitions = plugins.module_of(plugin).DEFINITIONS
    return _section(plugin.name, f"Also {', '.join(names)}.\n", own)


def _section(title: str, introduction: str, table: Definitions) -> str:
    head = ("Key", "Type", "Default", "What it is for")
    lines = [f"## {title}", "", *([introduction] if introduction else [])]
    lines += [_row(head), _row(["---"] * len(head))]
    lines += [_row(_cells(one)) for one in table.keys]
    return "\n".join(lines) + "\n"


def _cells(key: Key) -> Iterable[str]:
    also = "".join(f" Also `{one}`." for one in key.aliases)
    yield f"`{key.name}`"
    yield _TYPES.get(key.kind, key.kind.value.lower())
    yield _default(key)
    yield (key.doc + also).replace("|", "\\|").strip()


def _default(key: Key) -> str:
    if key.default is REQUIRED:
        return "must be set"
    text = "" if key.kind is Kind.PASSWORD else shown(key.default, key.kind)
    return f"`{text}`" if text else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(render(), end="")
