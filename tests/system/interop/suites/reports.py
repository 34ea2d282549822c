"""Reading what the runners leave: JUnit files, Go's JSON lines, librdkafka's own report."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from system.interop.suites.suite import Results


def read_junit(file: Path) -> Results:
    return collect(
        (f"{case.get('classname')}::{case.get('name')}", outcome_of(case))
        for case in ElementTree.parse(file).iter("testcase")
    )


def outcome_of(case: ElementTree.Element) -> str:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "fail"
    return "skip" if "skipped" in kinds else "pass"


def read_go(file: Path) -> Results:
    """Lines of `go test -json`; a test that never ended counts as failed, as after a panic."""
    outcomes: dict[str, str] = {}
    for line in file.read_text(errors="replace").splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        name = event.get("Test")
        if name is None:
            continue
        if event["Action"] in ("pass", "fail", "skip"):
            outcomes[name] = event["Action"]
        else:
            outcomes.setdefault(name, "fail")
    return collect(outcomes.items())


def read_librdkafka(folder: Path) -> Results:
    """A report for each process; one that crashed or hung left it empty. All others that the
    process knows are told as skipped."""
    return collect(
        (name, outcome)
        for file in folder.iterdir()
        for name, outcome in librdkafka_outcomes(file)
        if name.startswith(file.name.split("-")[0])
    )


def librdkafka_outcomes(file: Path) -> Iterable[tuple[str, str]]:
    words = {"PASSED": "pass", "SKIPPED": "skip"}
    text = file.read_text()
    if not text:
        return [(file.name.replace("-", "_", 1), "fail")]
    return [
        (name, words.get(test["state"], "fail")) for name, test in json.loads(text)["tests"].items()
    ]


def collect(outcomes: Iterable[tuple[str, str]]) -> Results:
    found: dict[str, set[str]] = {"pass": set(), "fail": set(), "skip": set()}
    for name, outcome in outcomes:
        found[outcome].add(name)
    passed, failed, skipped = (frozenset(found[kind]) for kind in ("pass", "fail", "skip"))
    return Results(passed, failed, skipped)
