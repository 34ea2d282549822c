"""Wrong answers put back, one at a time: the comparison must find each.

    PYTHONPATH=src:tests python -m differential.mutants NAME start server.properties

is a broker one of whose modules was read with a few words replaced, as a patch would replace them.
A patch that no longer fits its source ends the broker, and a test, with a sentence.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class Mutant(NamedTuple):
    area: str
    module: str
    right: str
    wrong: str


MUTANTS = {
    "a_member_of_an_old_generation_is_kept": Mutant(
        "classic_groups",
        "ottla.groups.classic.heartbeats",
        "ErrorCode.ILLEGAL_GENERATION",
        "ErrorCode.REBALANCE_IN_PROGRESS",
    ),
    "a_session_takes_any_epoch": Mutant(
        "fetch",
        "ottla.broker.fetch_sessions",
        "raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)",
        "pass",
    ),
    "a_gap_in_sequences_is_filled": Mutant(
        "produce",
        "ottla.log.producers",
        "first != (last + 1) % _SEQUENCES",
        "first < (last + 1) % _SEQUENCES",
    ),
}


def source_of(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text()


def patched(mutant: Mutant, source: str) -> str:
    if source.count(mutant.right) != 1:
        raise SystemExit(f"{mutant.module} has {mutant.right!r} {source.count(mutant.right)} times")
    return source.replace(mutant.right, mutant.wrong)


class Patching(MetaPathFinder):
    """Finds one module, and reads it as the mutant has it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        spec = PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        assert spec is not None
        assert spec.origin is not None
        spec.loader = PatchedLoader(fullname, spec.origin, self.mutant)
        return spec


class PatchedLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        """Never from a file of compiled code: that one is right."""
        return compile(patched(self.mutant, Path(self.path).read_text()), self.path, "exec")


if __name__ == "__main__":
    sys.meta_path.insert(0, Patching(MUTANTS[sys.argv.pop(1)]))
    from ottla.cli.main import main

    main()
