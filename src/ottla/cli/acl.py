"""`ottla acl add|list|remove|explain`: access rules, of any Kafka cluster."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from ottla.cli.arguments import Json, Target, Yes, reaches_a_cluster
from ottla.cli.output import err, out, print_json, print_table
from ottla.cli.rules_as_text import (
    ResourcePattern,
    read_resource,
    show_operation,
    show_resource,
    show_rule,
)
from ottla.client import acls
from ottla.client.acls import AclRule, RuleFilter
from ottla.client.cluster import Cluster
from ottla.errors import OttlaError
from ottla.metadata.image import Acl
from ottla.security.acls import WILDCARD, Operation, PatternType, Permission
from ottla.security.rules import Rules

app = typer.Typer(no_args_is_help=True, help="Say who may do what, and find out why.")

Principal = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="As User:alice; User:* is everybody.")
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where it comes from.")]
Deny = Annotated[bool, typer.Option("--deny", help="Forbid it; that wins over what is allowed.")]
Asked = list[tuple[int, ResourcePattern]]
"""Operations and what they are done with."""

OPERATIONS: Mapping[str, Operation] = {
    f"on_{one.name.lower()}": one
    for one in Operation
    if one not in (Operation.UNKNOWN, Operation.ANY)
}


def names_operations(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that takes `asked` an option for each operation."""
    known = signature(command)
    own = [one for one in known.parameters.values() if one.name != "asked"]
    options = {name: _option(operation) for name, operation in OPERATIONS.items()}
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in options.items()
    ]

    @wraps(command)
    def with_operations(**given: Any) -> None:
        said = {operation: given.pop(name) for name, operation in OPERATIONS.items()}
        command(asked=_asked(said), **given)

    with_operations.__signature__ = known.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return with_operations


def _option(operation: Operation) -> Any:
    return Annotated[
        list[str] | None,
        typer.Option(f"--{show_operation(operation)}", metavar="TYPE:NAME", help="Repeatable."),
    ]


@app.command()
@reaches_a_cluster
@names_operations
def add(
    target: Target,
    asked: Asked,
    principal: Principal,
    host: Host = WILDCARD,
    deny: Deny = False,
) -> None:
    """Allow, or deny, operations: `--read topic:orders --read 'group:app*' --describe cluster`."""
    _require(asked)
    permission = Permission.DENY if deny else Permission.ALLOW
    added = [
        AclRule(*resource, _checked(principal), host, operation, permission)
        for operation, resource in asked
    ]
    Cluster(target.connection()).ask(lambda wire: acls.add_rules(wire, added))
    for rule in added:
        err.print(show_rule(rule))


@app.command(name="list")
@reaches_a_cluster
def list_rules(
    target: Target,
    principal: Annotated[
        str | None, typer.Option("--as", metavar="PRINCIPAL", help="Only this one's.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="TYPE:NAME", help="Only what decides about this resource."),
    ] = None,
    json: Json = False,
) -> None:
    """List the rules."""
    wanted = RuleFilter(principal=None if principal is None else _checked(principal))
    if on is not None:
        kind, name, pattern = read_resource(on)
        is_exact = pattern == PatternType.PREFIXED or name == WILDCARD
        wanted = wanted._replace(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern if is_exact else PatternType.MATCH,
        )
    found = Cluster(target.connection()).ask(lambda wire: acls.rules(wire, wanted))
    rows = [_row(rule) for rule in found]
    columns = ("principal", "permission", "operation", "resource", "host")
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    print_table([one.upper() for one in columns], rows, empty="There are no such rules.")


@app.command()
@reaches_a_cluster
@names_operations
def remove(
    target: Target,
    asked: Asked,
    principal: Principal,
    yes: Yes = False,
) -> None:
    """Remove the rules that are named, allowing or denying; without any, all of the principal."""
    cluster = Cluster(target.connection())
    wanted = RuleFilter(principal=_checked(principal))
    gone = [
        rule
        for rule in cluster.ask(lambda wire: acls.rules(wire, wanted))
        if not asked or (rule.operation, ResourcePattern(*rule[:3])) in asked
    ]
    if not gone:
        raise OttlaError(f"{principal} has no such rule. `ottla acl list` shows those there are.")
    for rule in gone:
        err.print(show_rule(rule))
    if not asked and not yes:
        typer.confirm(f"Remove all rules of {principal}?", abort=True, err=True)
    cluster.ask(lambda wire: acls.remove_rules(wire, gone))
    err.print(f"Removed {len(gone)}.")


@app.command()
@reaches_a_cluster
@names_operations
def explain(
    target: Target,
    asked: Asked,
    principal: Annotated[str, typer.Option("--as", metavar="PRINCIPAL", help="As User:alice.")],
    host: Host = "127.0.0.1",
    json: Json = False,
) -> None:
    """Say whether somebody may do something, and by which rule. Ends with 1 where it may not."""
    _require(asked)
    found = Cluster(target.connection()).ask(acls.rules)
    rules = Rules([Acl(*rule) for rule in found])
    is_allowed = True
    for operation, (kind, name, pattern) in asked:
        decision = rules.decide(_checked(principal), host, operation, kind, name)
        is_allowed = is_allowed and decision.allowed
        what = f"{show_operation(operation)} {show_resource(kind, name, pattern)}"
        because = _because(decision.rule)
        if json:
            print_json({"what": what, "allowed": decision.allowed, "rule": because})
        else:
            verdict = "may" if decision.allowed else "may not"
            out.print(f"{principal} {verdict} {what}: {because}", markup=False, soft_wrap=True)
    if not is_allowed:
        raise typer.Exit(1)


def _because(rule: Acl | str) -> str:
    if isinstance(rule, str):
        return "no rule allows it. Super users may all the same, whom only the brokers' files name"
    return show_rule(
        AclRule(
            rule.resource_type,
            rule.resource_name,
            rule.pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission,
        )
    )


def _asked(said: Mapping[Operation, list[str] | None]) -> Asked:
    return [
        (int(operation), read_resource(one))
        for operation, resources in said.items()
        for one in resources or ()
    ]


def _require(asked: Asked) -> None:
    if not asked:
        raise OttlaError("Which operation? As --read topic:orders, or --write 'topic:orders.*'.")


def _checked(principal: str) -> str:
    if ":" not in principal:
        raise OttlaError(f"{principal!r} is no principal: write User:{principal}.")
    return principal


def _row(rule: AclRule) -> tuple[str, str, str, str, str]:
    return (
        rule.principal,
        Permission(rule.permission).name.lower(),
        show_operation(rule.operation),
        show_resource(rule.resource_type, rule.resource_name, rule.pattern_type),
        rule.host,
    )
