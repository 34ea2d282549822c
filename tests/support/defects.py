"""A test that passed only when it was tried again is a defect: the end of the run names it."""

from pathlib import Path

import pytest

TITLE = "Defects: passed only at a second try"


class Defects:
    def __init__(self, list_in: str | None) -> None:
        self._list_in = list_in

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        found = passed_at_a_second_try(terminalreporter.stats)
        if found:
            terminalreporter.section(TITLE, red=True, bold=True)
            for name in found:
                terminalreporter.line(name)
            for report in terminalreporter.stats["rerun"]:
                if report.nodeid in found:  # why, else it is gone with the run
                    terminalreporter.section(report.nodeid)
                    terminalreporter.line(report.longreprtext)
        if found and self._list_in is not None:
            with Path(self._list_in).open("a") as listed:
                listed.writelines(f"{name}\n" for name in found)


def passed_at_a_second_try(stats: dict[str, list[pytest.TestReport]]) -> list[str]:
    again, failed = (
        {report.nodeid for name in names for report in stats.get(name, [])}
        for names in (("rerun",), ("failed", "error"))
    )
    return sorted(again - failed)
