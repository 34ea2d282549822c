"""Which columns an operator gives: checked against those it takes. Pure."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.definitions import JoinKind, Node, Project
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

if TYPE_CHECKING:
    from ottla.pipelines.api.expressions import Expression


def project(
    node: Node,
    columns: "Iterable[Expression]",
    given: "Mapping[str, Expression]",
    where: Where,
) -> Project:
    pairs: list[tuple[str, str]] = []
    named = {name: ex.text_of(one, where) for name, one in given.items()}
    texts = (ex.text_of(one, where) for one in columns)
    for sql in (one for text in texts for one in ex.star(text, node.schema, where) or [text]):
        name = ex.name_of(sql, where)
        if name is None:
            raise DefinitionError(where, f"{sql!r} needs a name: write '{sql} AS name'.")
        pairs.append((name, ex.without_alias(sql, where)))
    pairs += named.items()
    if len({name for name, _ in pairs}) < len(pairs):
        raise DefinitionError(where, "two of the selected columns have the same name.")
    schema = tuple(ex.typed(name, sql, node.schema, where) for name, sql in pairs)
    return Project(
        where=where, schema=schema, is_table=node.is_table, input=node, columns=tuple(pairs)
    )


def extend(node: Node, given: "Mapping[str, Expression]", where: Where) -> Project:
    named = {name: ex.text_of(one, where) for name, one in given.items()}
    kept = [(field.name, f"`{field.name}`") for field in node.schema if field.name not in named]
    added = [ex.typed(name, sql, node.schema, where) for name, sql in named.items()]
    schema = (*(field for field in node.schema if field.name not in named), *added)
    return Project(
        where=where,
        schema=schema,
        is_table=node.is_table,
        input=node,
        columns=(*kept, *named.items()),
    )


def joined(left: Node, right: Node, kind: JoinKind, where: Where) -> Schema:
    both = {field.name for field in left.schema} & {field.name for field in right.schema}
    if both:
        raise DefinitionError(
            where, f"both sides of the join have {', '.join(sorted(both))}: rename or drop one."
        )
    return (*left.schema, *right.schema)


def same_types(left: Schema, right: Schema, where: Where) -> None:
    types = {field.name: field.type for field in left}
    for field in right:
        if None not in (field.type, types[field.name]) and field.type != types[field.name]:
            raise DefinitionError(
                where,
                f"streams to merge need the same types; {field.name} is {types[field.name]} in "
                f"one and {field.type} in another.",
            )
