"""Policies that a node's file names, imported and made."""

from importlib import import_module
from typing import Any

from ottla.config import Settings
from ottla.controller.policies import ALTER_CONFIG, CREATE_TOPIC, NO_POLICIES, Policies
from ottla.errors import OttlaError


def policies_of(settings: Settings) -> Policies:
    """OttlaError for a name that cannot be honoured: the node would be laxer than its file."""
    create, alter = settings.text(CREATE_TOPIC), settings.text(ALTER_CONFIG)
    if not (create or alter):
        return NO_POLICIES
    return Policies(
        _made(CREATE_TOPIC, create) if create else None,
        _made(ALTER_CONFIG, alter) if alter else None,
    )


def _made(option: str, name: str) -> Any:
    module, colon, kind = name.partition(":")
    if not colon:
        raise OttlaError(
            f"{option}: classes in Java cannot be asked, as {name} would be. "
            "Name one in Python as module:Class."
        )
    try:
        policy = getattr(import_module(module), kind)()
    except Exception as error:
        raise OttlaError(f"{option}: {name} cannot be made: {error}.") from error
    if not callable(getattr(policy, "validate", None)):
        raise OttlaError(f"{option}: {name} has no method validate.")
    return policy
