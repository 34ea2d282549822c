"""What a kind of application is to the test of all of them: a program, drawn records in stages, and
what plain Python makes of those."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
T0 = 1_760_000_400_000  # 2025-10-09T09:00:00Z: older than any default retention

Row = str
"""A key and a value as text, the digits of each number as they were written."""


@dataclass(frozen=True)
class Record:
    topic: str
    key: str | None
    value: bytes | None
    at_ms: int
    headers: tuple[tuple[str, bytes], ...] = ()
    late: bool = False  # sent when time has passed it for good: it must count for nothing

    @property
    def fields(self) -> dict[str, Any]:
        """Of a value that is a JSON object, the digits of its numbers as they were written."""
        assert self.value is not None
        found: dict[str, Any] = json.loads(self.value, parse_float=Decimal)
        return found


@dataclass(frozen=True)
class Stage:
    """Records of which half are sent, then `victim` is killed, then the others are sent."""

    records: Sequence[Record]
    victim: str | None = None
    settle: bool = False  # all results are awaited, and compared
    program: str | None = None  # before it, the application is stopped and this one started


Expected = dict[str, Counter[Row] | dict[str, Row]]
"""By topic: every row of a stream, or the latest row by key of a table."""


@dataclass(frozen=True)
class Kind:
    name: str
    program: str
    inputs: tuple[str, ...]
    stages: Callable[[Random], list[Stage]]
    expected: Callable[[Sequence[Record]], Expected]


def program(body: str) -> str:
    head = """
import ottla
from ottla.pipelines import json, string, tumbling
app = ottla.App("kind", delivery="exactly_once", parallelism=2)
"""
    return head + body


def value(**fields: Any) -> bytes:
    return _text(fields, digits=str).encode()


def row(key: str | None, fields: Any) -> Row:
    """As `read` gives it of a record that holds these fields."""
    return f"{key} {_text(fields, digits=lambda number: json.dumps(f'#{number}'))}"


def read(key: bytes | None, written: bytes) -> Row:
    fields = json.loads(written, parse_float=lambda digits: f"#{digits}")
    return f"{None if key is None else key.decode()} {_text(fields, digits=str)}"


def counted(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(rows)


def _text(fields: Any, digits: Callable[[Decimal | float], str]) -> str:
    """JSON with sorted names. Numbers with a fraction are written by `digits`."""
    if isinstance(fields, dict):
        inner = (f"{json.dumps(n)}: {_text(v, digits)}" for n, v in sorted(fields.items()))
        return "{" + ", ".join(inner) + "}"
    if isinstance(fields, list):
        return "[" + ", ".join(_text(each, digits) for each in fields) + "]"
    if isinstance(fields, Decimal | float):
        return digits(fields)
    return json.dumps(fields)


def money(chance: Random, most: int = 100_000) -> Decimal:
    """Cents, of which no binary fraction is exact."""
    return Decimal(chance.randint(1, most)).scaleb(-2)
