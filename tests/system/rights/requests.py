"""Messages of a question: fields that a message does not have are left out."""

from functools import cache
from importlib import import_module
from typing import Any, get_args, get_type_hints

from ottla.wire.message import Message
from system.rights.question import Ids, Question


@cache
def messages(api: str) -> tuple[type[Message], type[Message]]:
    """Request and response."""
    module = import_module(f"ottla.wire.messages.{api}")
    name = "".join(word.capitalize() for word in api.split("_"))
    return getattr(module, f"{name}Request"), getattr(module, f"{name}Response")


@cache
def response_of(request: type[Message]) -> type[Message]:
    return messages(request.__module__.rpartition(".")[2])[1]


def request_of(asked: Question, ids: Ids) -> Message:
    return built(messages(asked.api)[0], asked.fields(ids))


def built(kind: type[Message], fields: dict[str, Any]) -> Message:
    """What the message does not have was meant for another version's way of saying it."""
    inside = hints(kind)
    return kind(
        **{name: value_of(inside[name], value) for name, value in fields.items() if name in inside}
    )


@cache
def hints(kind: type[Message]) -> dict[str, Any]:
    return {n: h for n, h in get_type_hints(kind).items() if n in kind.__struct_fields__}


def value_of(hint: Any, value: Any) -> Any:
    item = next((one for one in (hint, *inner(hint)) if is_message(one)), None)
    if item is None or value is None:
        return value
    if isinstance(value, list):
        return [built(item, one) for one in value]
    return built(item, value)


def inner(hint: Any) -> list[Any]:
    return [one for arg in get_args(hint) for one in (arg, *inner(arg))]


def is_message(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Message)
