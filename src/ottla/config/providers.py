"""Values that stand elsewhere: `${file:/run/secrets/broker.properties:password}` in a file of
options, as Apache Kafka's config providers resolve it.

    config.providers=file,env
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider

In the node's own file only: what is set over the wire or on the command line is taken as it is, so
that nobody who may set something can read the host's files by it. Unlike in Kafka, a value that is
not to be found ends the start: its place would be taken by the text that asks for it.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ottla.config.properties import PropertyEntry, read_properties
from ottla.errors import OttlaError

PROVIDERS = "config.providers"
_PACKAGE = "org.apache.kafka.common.config.provider."
_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

Find = Callable[[str, str], str | None]
"""By path and key."""


def resolve(
    entries: list[PropertyEntry], environment: Mapping[str, str] = os.environ
) -> list[PropertyEntry]:
    given = {entry.name: entry.value for entry in entries}
    providers = _providers(given, environment)
    if not providers:
        return entries
    return [entry._replace(value=_replaced(entry, providers)) for entry in entries]


def _replaced(entry: PropertyEntry, providers: Mapping[str, Find]) -> str:
    def found(variable: re.Match[str]) -> str:
        name, path, key = variable.groups()
        if name not in providers:
            return variable[0]
        value = providers[name](path or "", key)
        if value is None:
            raise OttlaError(f"{entry.name}, line {entry.line}: {variable[0]} is not to be found.")
        return value

    return _VARIABLE.sub(found, entry.value)


def _providers(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Find]:
    found: dict[str, Find] = {}
    for name in filter(None, map(str.strip, given.get(PROVIDERS, "").split(","))):
        option = f"{PROVIDERS}.{name}.class"
        kind = given.get(option, "").strip()
        parameter = f"{PROVIDERS}.{name}.param."
        if kind == f"{_PACKAGE}EnvVarConfigProvider":
            pattern = re.compile(given.get(f"{parameter}allowlist.pattern", ".*"))
            found[name] = _from_environment(environment, pattern)
        elif kind in (f"{_PACKAGE}FileConfigProvider", f"{_PACKAGE}DirectoryConfigProvider"):
            allowed = given.get(f"{parameter}allowed.paths", "")
            paths = [Path(one.strip()) for one in allowed.split(",") if one.strip()]
            read = _of_file if kind.endswith("FileConfigProvider") else _of_directory
            found[name] = _within(paths, read)
        else:
            raise OttlaError(
                f"{option}: {kind or 'nothing'} cannot be loaded; Kafka's own providers of files, "
                "directories and variables of the environment are built in."
            )
    return found


def _from_environment(environment: Mapping[str, str], allowed: re.Pattern[str]) -> Find:
    return lambda path, key: environment.get(key) if allowed.fullmatch(key) else None


def _within(allowed: list[Path], read: Find) -> Find:
    def find(path: str, key: str) -> str | None:
        whole = Path(os.path.normpath(path))
        if allowed and not any(whole.is_relative_to(one) for one in allowed):
            raise OttlaError(f"{PROVIDERS}: {path} is outside of allowed.paths.")
        return read(path, key)

    return find


def _of_file(path: str, key: str) -> str | None:
    return {entry.name: entry.value for entry in read_properties(Path(path))}.get(key)


def _of_directory(path: str, key: str) -> str | None:
    """A file is a value, as secrets are mounted into containers."""
    if "/" in key or key in ("", ".", ".."):
        return None
    try:
        return (Path(path) / key).read_text(encoding="utf-8")
    except OSError:
        return None
