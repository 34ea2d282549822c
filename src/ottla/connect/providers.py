"""Secrets that stand elsewhere: `${file:PATH:KEY}`, `${dir:PATH:KEY}`, `${env:NAME}`.

Only by providers that the worker's file names, and only from where it allows. A resolved value goes
into a run and nowhere else: no record, answer, log or error has it.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ottla.config.properties import read_properties
from ottla.connect.connector import ConnectError
from ottla.errors import OttlaError

REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_KINDS = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": "file",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": "dir",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": "env",
}

Provider = Callable[[str, str], str | None]  # path and key; None: there is no such value


class Providers:
    def __init__(self, names: Sequence[str], said: Mapping[str, str]) -> None:
        """`said` is what stands after `config.providers.`; OttlaError for a provider unknown."""
        self._providers: dict[str, Provider] = {}
        for name in names:
            kind = said.get(f"{name}.class", "")
            parameters = {
                key.removeprefix(f"{name}.param."): value
                for key, value in said.items()
                if key.startswith(f"{name}.param.")
            }
            self._providers[name] = _made(name, kind, parameters)

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """References to providers that are not named stay as they are. ConnectError for a value
        that cannot be had; it says which, never what."""
        return {name: self._resolved(name, value) for name, value in config.items()}

    def _resolved(self, name: str, value: str) -> str:
        def found(reference: re.Match[str]) -> str:
            provider = self._providers.get(reference[1])
            if provider is None:
                return reference[0]
            secret = provider(reference[3] or "", reference[4])
            if secret is None:
                raise ConnectError(f"{name}: {reference[0]} cannot be resolved.")
            return secret

        return REFERENCE.sub(found, value) if "${" in value else value


def _made(name: str, kind: str, parameters: Mapping[str, str]) -> Provider:
    match _KINDS.get(kind):
        case "file":
            return _Files(_allowed(parameters)).in_file
        case "dir":
            return _Files(_allowed(parameters)).in_folder
        case "env":
            pattern = re.compile(parameters.get("allowlist.pattern") or ".*")
            return lambda _, key: os.environ.get(key) if pattern.fullmatch(key) else None
    raise OttlaError(
        f"config.providers.{name}.class={kind} cannot be run: served are {', '.join(_KINDS)}."
    )


def _allowed(parameters: Mapping[str, str]) -> list[Path] | None:
    said = parameters.get("allowed.paths")
    if not said:
        return None
    return [Path(one.strip()).resolve() for one in said.split(",") if one.strip()]


class _Files:
    def __init__(self, allowed: list[Path] | None) -> None:
        self._allowed = allowed

    def in_file(self, path: str, key: str) -> str | None:
        place = self._place(Path(path)) if path else None
        if place is None or not place.is_file():
            return None
        try:
            return {entry.name: entry.value for entry in read_properties(place)}.get(key)
        except OttlaError:
            return None

    def in_folder(self, path: str, key: str) -> str | None:
        """One file for each key; a key names no other folder."""
        folder = self._place(Path(path)) if path else None
        if folder is None or "/" in key or key in ("", ".", ".."):
            return None
        place = self._place(folder / key)
        try:
            return None if place is None else place.read_text()
        except OSError:
            return None

    def _place(self, path: Path) -> Path | None:
        """Where it leads, symbolic links and `..` followed; None outside of what is allowed."""
        real = path.resolve()
        if self._allowed is None or any(real.is_relative_to(one) for one in self._allowed):
            return real
        return None
