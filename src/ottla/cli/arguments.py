"""Arguments that several commands share, so that they read and complete alike everywhere."""

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


def assignments(pairs: list[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary; a pair without `=` is a usage error."""
    parsed: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        parsed[name] = value
    return parsed
