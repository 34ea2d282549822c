"""Arguments that several commands share, so that they read and complete alike everywhere."""

from os import environ
from typing import Annotated

import typer

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="OTTLA_BOOTSTRAP",
        metavar="HOST:PORT",
        help="A broker of the cluster; several with commas between.",
    ),
]
ClientOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        "-X",
        metavar="NAME=VALUE",
        help="An option of the client library, as librdkafka names it; repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON for scripts instead of a table.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before deleting.")]
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    """Topic names for the shell; nothing at all when no broker answers quickly."""
    return [name for name in _names(context, "topics") if name.startswith(incomplete)]


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    return [name for name in _names(context, "groups") if name.startswith(incomplete)]


def _names(context: typer.Context, kind: str) -> list[str]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    bootstrap = context.params.get("bootstrap") or environ.get("OTTLA_BOOTSTRAP")
    admin = AdminClient({"bootstrap.servers": bootstrap or DEFAULT_BOOTSTRAP, "log_level": 0})
    try:
        if kind == "topics":
            return sorted(admin.list_topics(timeout=1).topics)
        found = admin.list_consumer_groups(request_timeout=1).result(1.5)
        return sorted(group.group_id for group in found.valid)
    except (KafkaException, TimeoutError):
        return []


def assignments(pairs: list[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary; a pair without `=` is a usage error."""
    parsed: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        parsed[name] = value
    return parsed
