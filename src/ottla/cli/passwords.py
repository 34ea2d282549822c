"""Passwords come from a prompt, a file or standard input, never from the command line: there
everybody on the host could read them. What leaves is salted and stretched."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ottla.client.users import StretchedPassword
from ottla.errors import OttlaError
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.security.scram import ITERATIONS_MIN, MECHANISMS, Mechanism, salted_password

SALT_BYTES = 20

PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="The password is its first line; - is standard input. Otherwise it is asked for.",
    ),
]


def read_password(name: str, file: Path | None) -> str:
    if file is None and sys.stdin.isatty():
        return str(
            typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
        )
    if file is None or str(file) == "-":
        line = sys.stdin.readline()
    else:
        try:
            line = file.read_text().partition("\n")[0]
        except OSError as error:
            raise OttlaError(f"{file} cannot be read: {error.strerror}.") from None
    password = line.rstrip("\r\n")
    if not password:
        raise OttlaError("The password is empty.")
    return password


def stretched(
    password: str, mechanism: Mechanism, iterations: int = ITERATIONS_MIN
) -> StretchedPassword:
    salt = SYSTEM_CHANCE.randbytes(SALT_BYTES).hex().encode()
    salted = salted_password(mechanism, password, salt, iterations)
    return StretchedPassword(mechanism.number, iterations, salt, salted)


def mechanism_named(name: str) -> Mechanism:
    found = MECHANISMS.get(name.upper())
    if found is None:
        raise OttlaError(f"There is no mechanism {name}: {' or '.join(MECHANISMS)}.")
    return found
