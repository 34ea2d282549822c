"""Ratios of paired rounds, and the table that docs/benchmarks.md shows."""

import datetime
import os
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path

Values = dict[str, float]

HEADER = """## {title}, {which}

Apache Kafka {version} and Ottla in one run on the same machine, through the same client
(librdkafka), {rounds} rounds in turn. A ratio above 1 means that Ottla is better; the interval is
the smallest and the largest ratio of a round. *Behind* means that the whole interval lies below 1.
Repeat it with `{command}`; `{command} ARGS=--quick` takes minutes.

{date}, {machine}{note}

| what | Kafka | Ottla | ratio | interval | |
| --- | ---: | ---: | ---: | :---: | --- |
"""


@dataclass(frozen=True, kw_only=True)
class Line:
    name: str
    kafka: float
    ottla: float
    ratios: list[float]

    @property
    def behind(self) -> bool:
        return max(self.ratios) < 1

    def row(self) -> str:
        ratio = statistics.median(self.ratios)
        interval = f"{min(self.ratios):.2f} … {max(self.ratios):.2f}"
        verdict = "behind" if self.behind else ""
        cells = (self.name, number(self.kafka), number(self.ottla), f"{ratio:.2f}×", interval)
        return "| " + " | ".join((*cells, verdict)) + " |"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def more_is_better(name: str) -> bool:
    return name.endswith(("MB/s", "per s"))


def compare(kafka: list[Values], ottla: list[Values]) -> list[Line]:
    """One line per measure that both brokers have in at least one round."""
    lines = []
    for name in dict.fromkeys(name for values in kafka for name in values):
        pairs = [
            (k[name], o[name]) for k, o in zip(kafka, ottla, strict=True) if name in k and name in o
        ]
        if pairs:
            ratios = [o / k if more_is_better(name) else k / o for k, o in pairs]
            lines.append(
                Line(
                    name=name,
                    kafka=statistics.median(k for k, _ in pairs),
                    ottla=statistics.median(o for _, o in pairs),
                    ratios=ratios,
                )
            )
    return lines


def table(
    lines: list[Line],
    *,
    title: str,
    rounds: int,
    version: str,
    note: str,
    command: str = "make bench",
    is_whole: bool = True,
) -> str:
    header = HEADER.format(
        title=title,
        which="the last full run" if is_whole else "a run that is not whole yet",
        version=version,
        rounds=rounds,
        command=command,
        date=datetime.date.today().isoformat(),
        machine=machine(),
        note=note,
    )
    rows = "".join(line.row() + "\n" for line in lines)
    behind = [line.name for line in lines if line.behind]
    names = f"{len(behind)} lines: {', '.join(behind)}" if behind else "no line"
    return f"{header}{rows}\nBehind in {names}.\n"


def put(section: str, text: str, page: Path) -> None:
    """Between its two marks; whatever else stands on the page was written by hand and stays."""
    begin, end = f"<!-- {section}: written by make bench -->\n", f"<!-- {section} ends -->\n"
    whole = page.read_text() if page.exists() else "# Benchmarks\n"
    if begin in whole:
        before, rest = whole.split(begin, 1)
        _, after = rest.split(end, 1)
    else:
        before, after = whole + "\n", ""
    page.write_text(before + begin + text + end + after)


def machine() -> str:
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = platform.python_version()
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB memory, Python {python}"
