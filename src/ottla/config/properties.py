"""The syntax of Java's properties files, in which Kafka keeps its options and whose a directory is.

What the names mean is not known here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import hexdigits
from typing import NamedTuple

from ottla.errors import OttlaError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"


class PropertyEntry(NamedTuple):
    name: str
    value: str
    line: int  # where it begins, counted from 1


def read_properties(path: Path) -> list[PropertyEntry]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = path.read_text(encoding="iso-8859-1")  # what Java writes
    except OSError as error:
        raise OttlaError(f"{path} cannot be read: {error.strerror}.") from None
    return list(parse_properties(text, str(path)))


def parse_properties(text: str, origin: str = "the text") -> Iterator[PropertyEntry]:
    """Java's properties syntax: comments, continued lines, escapes, `=`, `:` or a blank between."""
    for number, line in _logical_lines(text):
        end = _end_of_name(line)
        rest = line[end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        where = f"{origin}, line {number}"
        yield PropertyEntry(_unescape(line[:end], where), _unescape(rest, where), number)


def render_properties(options: Mapping[str, str], *, about: str) -> str:
    """A `server.properties` that Apache Kafka and Ottla read alike; `about` becomes the comment."""
    lines = [f"# {line}" for line in about.splitlines()]
    for name, value in options.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        if escaped.startswith(" "):
            escaped = "\\" + escaped
        lines.append(f"{name}={escaped}")
    return "\n".join(lines) + "\n"


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    for number, line in lines:
        line = line.lstrip(_BLANK)
        if not line or line[0] in "#!":
            continue
        while _is_continued(line):
            _, following = next(lines, (0, ""))
            line = line[:-1] + following.lstrip(_BLANK)
        yield number, line


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _end_of_name(line: str) -> int:
    position = 0
    while position < len(line) and line[position] not in "=: \t\f":
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _unescape(text: str, where: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    characters = iter(text)
    for character in characters:
        if character != "\\":
            out.append(character)
            continue
        escaped = next(characters, "")
        if escaped != "u":
            out.append(_ESCAPES.get(escaped, escaped))
            continue
        digits = "".join(next(characters, "") for _ in range(4))
        if len(digits) != 4 or not all(digit in hexdigits for digit in digits):
            raise OttlaError(f"{where}: \\u needs four hexadecimal digits.")
        out.append(chr(int(digits, 16)))
    return "".join(out)
