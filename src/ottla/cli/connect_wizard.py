"""`ottla connect add NAME --wizard`: asks, tries, shows, and only then creates.

What is asked comes from the worker's own table of keys, so it serves any Connect. Until the last
question is answered nothing is created: Ctrl-C leaves no trace.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer

from ottla.cli import connect_questions as questions
from ottla.cli.connect_questions import Question
from ottla.cli.output import err
from ottla.client.connect import ConnectClient, ConnectRefusal
from ottla.errors import OttlaError

ROWS = 5
_SECRETS = (
    "What is typed is not shown, but it will stand in the connector's configuration, where whoever "
    "may ask this Connect can read it. Better: keep it in a file beside the worker, and answer "
    "${file:/path/to/secrets.properties:password}. The worker's file allows that by "
    "config.providers."
)
Shown = Callable[[Mapping[str, str]], int]  # prints the first rows; how many there were


def wizard(connect: ConnectClient, name: str, said: Mapping[str, str], show: Shown) -> None:
    if _is_there(connect, name):
        raise OttlaError(f"There is a connector {name} already: choose another name.")
    asking = Asking()
    config = {"name": name, **said}
    if "connector.class" not in config:
        config["connector.class"] = asking.plugin(connect.plugins())
    for question in questions.required(connect.keys(config["connector.class"]), config):
        asking.ask(question, config)
    found = _until_right(connect, config, asking)
    chosen = questions.tables(found, config)
    if chosen is not None:
        err.print(f"It is reached. There are {len(chosen.choices)} tables.")
        asking.ask(chosen, config, empty="all of them")
        _until_right(connect, config, asking)
    _show_rows(config, show)
    if not typer.confirm(f"Create {name}?", default=True, err=True):
        raise typer.Abort
    connect.put(name, config)
    err.print(f"{name} is created: `ottla connect status {name}` tells how it is.")


def _is_there(connect: ConnectClient, name: str) -> bool:
    try:
        connect.config(name)
    except ConnectRefusal as refusal:
        if refusal.status == 404:
            return False
        raise
    return True


def _until_right(
    connect: ConnectClient, config: dict[str, str], asking: "Asking"
) -> Mapping[str, Any]:
    """The worker checks it, and connects to what it names, until nothing is wrong."""
    while True:
        found = connect.validate(config)
        if not found["error_count"]:
            return found
        if lost := questions.unanswerable(found):
            raise OttlaError("\n".join(lost))
        for question in questions.wrong(found, config):
            asking.ask(question, config)


def _show_rows(config: Mapping[str, str], show: Shown) -> None:
    err.print("This is what it would write:")
    try:
        if not show(config):
            err.print("Nothing is there to be written yet.")
    except OttlaError as error:
        err.print(f"It cannot be shown from here: {error}")


class Asking:
    def __init__(self) -> None:
        self._told_of_secrets = False

    def plugin(self, listed: list[dict[str, str]]) -> str:
        found = [one["class"] for one in listed]
        if not found:
            raise OttlaError("This Connect has no connectors to run.")
        doc = "Which connector?"
        question = Question(name="connector.class", doc=doc, choices=tuple(found))
        config: dict[str, str] = {}
        self.ask(question, config)
        return config["connector.class"]

    def ask(self, question: Question, config: dict[str, str], *, empty: str | None = None) -> None:
        """`empty` says what an empty answer means, where it means something."""
        for line in _introduction(question):
            err.print(line)
        if question.hidden and not self._told_of_secrets:
            err.print(_SECRETS)
            self._told_of_secrets = True
        may_be_empty = question.optional or empty is not None
        text = typer.prompt(
            question.name if empty is None else f"{question.name} (empty: {empty})",
            default=question.before or ("" if may_be_empty else None),
            show_default=bool(question.before) and not question.hidden,
            hide_input=question.hidden,
            err=True,
        )
        if given := questions.answer(question, str(text).strip()):
            config[question.name] = given
        else:
            config.pop(question.name, None)


def _introduction(question: Question) -> Iterator[str]:
    yield ""
    yield from question.errors
    if question.doc:
        yield question.doc
    for number, one in enumerate(question.choices, 1):
        yield f"  {number:>3} {one}"
