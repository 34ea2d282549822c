"""`ottla schema …`: the schemas of any registry with Confluent's interface, and of files."""

import difflib
import json as json_
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ottla.cli.arguments import Json, Yes
from ottla.cli.output import err, print_json, print_table
from ottla.cli.schema_files import Given, find, read_file, references_of
from ottla.client.schema_moving import exported, import_all
from ottla.client.schema_registry import (
    DEFAULT_URL,
    URL_VARIABLE,
    SchemaRegistry,
    draft,
    url_of,
    without_password,
)
from ottla.errors import OttlaError

if TYPE_CHECKING:
    from ottla.registry.levels import Level
    from ottla.registry.parsed import Parsed

app = typer.Typer(no_args_is_help=True, help="List, show, check, register and move schemas.")

Url = Annotated[
    str | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="URL",
        help=f"The schema registry. Otherwise ${URL_VARIABLE}, or {DEFAULT_URL}.",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="AVRO, JSON or PROTOBUF; else by the ending."),
]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Like orders-value.")]
SchemaFile = Annotated[Path, typer.Argument(metavar="FILE", help=".avsc, .json or .proto")]
Deleted = Annotated[bool, typer.Option("--deleted", help="Those that were deleted softly, too.")]


@app.command("list")
def list_(
    prefix: Annotated[str | None, typer.Argument(metavar="PREFIX")] = None,
    registry: Url = None,
    deleted: Deleted = False,
    json: Json = False,
) -> None:
    """Show the subjects, with their versions and types."""
    there = SchemaRegistry(url_of(registry))
    rows: list[dict[str, Any]] = []
    for subject in there.subjects(prefix, deleted=deleted):
        versions = there.versions(subject, deleted=deleted)
        last = there.version(subject, versions[-1], deleted=deleted)
        rows.append(
            {"subject": subject, "versions": versions, "type": last.kind, "latest_id": last.id}
        )
    if json:
        print_json(rows)
        return
    print_table(
        ["subject", "versions", "type", "latest id"],
        [
            (r["subject"], ",".join(map(str, r["versions"])), r["type"], r["latest_id"])
            for r in rows
        ],
        empty=f"No subjects at {without_password(there.url)}.",
    )


@app.command()
def show(
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT")] = None,
    version: Annotated[
        str, typer.Option("--version", "-v", metavar="N", help="Otherwise the latest.")
    ] = "latest",
    id: Annotated[int | None, typer.Option("--id", help="The schema of an id instead.")] = None,
    registry: Url = None,
    deleted: Deleted = False,
    json: Json = False,
) -> None:
    """Print a schema; with --json all that the registry says of it."""
    there = SchemaRegistry(url_of(registry))
    if (subject is None) == (id is None):
        raise OttlaError("Name a subject, or an id with --id.")
    found = (
        there.by_id(id)
        if id is not None
        else there.version(subject or "", version, deleted=deleted)
    )
    if json:
        fields = {"subject": found.subject, "version": found.version, "id": found.id}
        print_json(fields | {"schemaType": found.kind} | found.draft())
    else:
        print(_pretty(Given("", found.kind, found.text)))


@app.command()
def register(
    subject: Subject,
    file: SchemaFile,
    kind: Kind = None,
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="Repeatable."),
    ] = None,
    normalize: Annotated[bool, typer.Option("--normalize", help="In its normal form.")] = False,
    registry: Url = None,
) -> None:
    """Register a file as the subject's next version; prints its id."""
    there = SchemaRegistry(url_of(registry))
    new = read_file(file, kind)
    body = draft(new.text, new.kind, references_of(reference or ()))
    print(there.register(subject, body, normalize=normalize))


@app.command()
def check(
    file: SchemaFile,
    against: Annotated[
        list[str],
        typer.Option(
            "--against",
            metavar="FILE|SUBJECT",
            help="What is there already, the oldest first: files, a subject or SUBJECT@VERSION.",
        ),
    ],
    level: Annotated[
        str | None,
        typer.Option(help="BACKWARD, FORWARD, FULL, each with _TRANSITIVE. Else the subject's."),
    ] = None,
    kind: Kind = None,
    registry: Url = None,
) -> None:
    """Say whether a schema may follow others; with files alone no registry is needed."""
    from ottla.registry.levels import Earlier, incompatibilities

    there = SchemaRegistry(url_of(registry))
    new = read_file(file, kind)
    parsed = _parsed(new)
    earlier = [one for said in against for one in find(said, there, new.kind)]
    chosen = _level(level, against, there)
    held = [Earlier(one.version, lambda one=one: _parsed(one)) for one in earlier]  # type: ignore[misc]
    messages = incompatibilities(parsed, held, chosen)
    told = [one for one in messages if not one.startswith(("{oldSchema", "{validateFields"))]
    if told:
        err.print(f"{file} may not follow {', '.join(against)} ({chosen}):")
        for one in told:
            print(one)
        raise typer.Exit(1)
    err.print(f"{file} may follow {', '.join(against)} ({chosen}).")


@app.command()
def diff(
    one: Annotated[str, typer.Argument(metavar="FILE|SUBJECT[@VERSION]")],
    other: Annotated[str, typer.Argument(metavar="FILE|SUBJECT[@VERSION]")],
    registry: Url = None,
) -> None:
    """Show what changes from one schema to another; exits 1 where something does."""
    there = SchemaRegistry(url_of(registry))
    before, after = find(one, there)[-1], find(other, there)[-1]
    lines = list(
        difflib.unified_diff(
            _pretty(before).splitlines(),
            _pretty(after).splitlines(),
            before.name,
            after.name,
            lineterm="",
        )
    )
    for line in lines:
        print(line)
    if lines:
        raise typer.Exit(1)


@app.command()
def delete(
    subject: Subject,
    version: Annotated[
        str | None, typer.Option("--version", "-v", metavar="N", help="Only this one.")
    ] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For good, after a first, soft delete.")
    ] = False,
    yes: Yes = False,
    registry: Url = None,
) -> None:
    """Delete a subject, or one version of it: softly, so that its ids can still be read."""
    there = SchemaRegistry(url_of(registry))
    what = subject if version is None else f"{subject}, version {version}"
    if not yes and not typer.confirm(f"Delete {what}{' for good' if permanent else ''}?", err=True):
        raise typer.Exit(1)
    gone = there.delete(subject, version, permanent=permanent)
    err.print(f"Deleted {subject}: {', '.join(map(str, gone))}.")


@app.command("export")
def export_(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Of the subjects.")] = "",
    registry: Url = None,
) -> None:
    """Print all schemas and settings as lines of JSON, with their ids."""
    for line in exported(SchemaRegistry(url_of(registry)), prefix):
        print_json(line)


@app.command("import")
def import_(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Otherwise standard input.")
    ] = None,
    registry: Url = None,
) -> None:
    """Take what `export` has printed, ids and versions as they were."""
    there = SchemaRegistry(url_of(registry))
    count = import_all(there, _lines(file), lambda _: None)
    err.print(f"{count} schemas are at {without_password(there.url)} now.")


def _lines(file: Path | None) -> Iterator[dict[str, Any]]:
    try:
        text = sys.stdin.read() if file is None else file.read_text()
        for line in filter(None, map(str.strip, text.splitlines())):
            yield json_.loads(line)
    except OSError as error:
        raise OttlaError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise OttlaError(f"{file or 'standard input'} is no export: {error}.") from None


def _pretty(schema: Given) -> str:
    if schema.kind == "PROTOBUF":
        return schema.text.strip()
    try:
        return json_.dumps(json_.loads(schema.text), indent=2, ensure_ascii=False)
    except ValueError:
        return schema.text.strip()


def _parsed(schema: Given) -> "Parsed":
    from ottla.registry.parsed import NotASchema, TooComplex
    from ottla.registry.types import parse

    try:
        return parse(schema.kind, schema.text, schema.references, new=False)
    except (NotASchema, TooComplex) as error:
        raise OttlaError(f"{schema.name}: {error}") from None


def _level(said: str | None, against: Sequence[str], registry: SchemaRegistry) -> "Level":
    """What was said; else that of the subject, or of the registry; of files BACKWARD."""
    from ottla.registry.levels import Level, level_of

    if said is None:
        subjects = [one.partition("@")[0] for one in against if not Path(one).is_file()]
        held = None
        for subject in subjects[:1]:
            held = registry.setting("config", subject) or registry.setting("config")
        said = str((held or {}).get("compatibilityLevel") or Level.BACKWARD)
    found = level_of(said)
    if found is None:
        raise OttlaError(f"--level cannot be {said}: one of {', '.join(Level)} is expected.")
    return found
