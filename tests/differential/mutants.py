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
    patches: tuple[tuple[str, str], ...]
    """What is replaced, and by what; each is there once."""
    also: "tuple[Mutant, ...]" = ()
    """Patches of other modules, without which this one would do no harm, or only by chance."""

    def of(self, module: str) -> "Mutant | None":
        return next((one for one in (self, *self.also) if one.module == module), None)


MARKERS_END_EVERY_VERIFICATION = Mutant(
    "transactions",
    "ottla.log.verification",
    (("if guard.outlives_marker_of(epoch):", "if False:"),),
)

MARKERS_ARE_SLOW = Mutant(
    "transactions",
    "ottla.transactions.markers",
    (("    pause = RETRY_S\n", "    pause = RETRY_S\n    await asyncio.sleep(0.03)\n"),),
)
"""Not a wrong answer, but a slow world: one broker alone writes its markers before anybody can ask
what it says meanwhile. Shorter than an observation waits for an answer to stay the same."""

WORLDS = {"markers_are_slow": MARKERS_ARE_SLOW}
"""Not to be found."""

MUTANTS = {
    "a_poison_record_takes_its_batch_with_it": Mutant(
        "share_groups",
        "ottla.groups.share.acquiring",
        (("max(ISOLATION_LIMIT_MIN, ceil(delivery_limit / 2))", "delivery_limit + 1"),),
    ),
    "a_share_fetch_reads_more_than_it_may": Mutant(
        "share_groups",
        "ottla.broker.share.fetching",
        (("leader.read(offset, bytes_max,", "leader.read(offset, 1 << 20,"),),
    ),
    "answers_may_overlap": Mutant(
        "share_groups",
        "ottla.broker.share.acknowledging",
        ((" or batch.first_offset < last_offset", ""),),
    ),
    "guards_are_taken_once": Mutant(
        "transactions",
        "ottla.broker.producing.transaction_verification",
        (
            (
                "self._asked.clear()",
                "self._first = {**self._asked, **vars(self).get('_first', {})}\n"
                "                self._asked.clear()",
            ),
            (
                "self._asked[partition] = PendingVerification(leader, verification)",
                "self._asked[partition] = vars(self).get('_first', {}).get("
                "partition, PendingVerification(leader, verification))",
            ),
        ),
        (MARKERS_END_EVERY_VERIFICATION,),
    ),
    "guards_of_offsets_are_taken_once": Mutant(
        "transactions",
        "ottla.broker.handlers.transactions.txn_offset_commit",
        (
            (
                "            return\n        codes = await",
                "            return\n"
                "        verification = vars(patience).setdefault('first', verification)\n"
                "        codes = await",
            ),
        ),
        (MARKERS_END_EVERY_VERIFICATION,),
    ),
    "the_other_end_is_refused_while_markers_are_written": Mutant(
        "transactions",
        "ottla.transactions.machine",
        (
            (
                "raise busy(current)\n    after_rotation",
                "raise cannot_end(current, ask)\n    after_rotation",
            ),
        ),
        (MARKERS_ARE_SLOW,),
    ),
    "an_old_client_repeats_an_end_of_the_epoch_before": Mutant(
        "transactions",
        "ottla.transactions.machine",
        (
            (
                "    if current.producer_epoch != ask.producer_epoch:\n",
                "    if current.producer_epoch - ask.producer_epoch not in (0, 1):\n",
            ),
        ),
    ),
    "who_was_aborted_is_fenced_for_good": Mutant(
        "transactions",
        "ottla.transactions.machine",
        (("last_producer_epoch=current.producer_epoch,", "last_producer_epoch=NO_EPOCH,"),),
    ),
    "offsets_of_partitions_that_are_not_there_are_kept_in_transactions": Mutant(
        "transactions",
        "ottla.broker.handlers.transactions.txn_offset_commit",
        (
            (
                "services.cluster.has_partition(TopicPartition(topic.name, part.partition_index))",
                "True",
            ),
        ),
    ),
    "a_partition_takes_any_first_sequence": Mutant(
        "transactions",
        "ottla.log.verification",
        (("if guard.adds and first != 0 and is_unknown:", "if False:"),),
    ),
    "transactions_are_listed_whatever_the_pattern": Mutant(
        "transactions",
        "ottla.broker.handlers.transactions.list_transactions",
        (("if request.transactional_id_pattern:", "if False:"),),
    ),
    "a_producer_id_may_come_without_its_epoch": Mutant(
        "produce",
        "ottla.broker.handlers.transactions.init_producer_id",
        (("(known[0] == NO_PRODUCER_ID) != (known[1] == NO_EPOCH)", "False"),),
    ),
    "zstd_is_taken_from_old_clients": Mutant(
        "produce",
        "ottla.broker.producing.request_checks",
        (("version < FIRST_WITH_ZSTD and header.codec", "header.codec < 0 and header.codec"),),
    ),
    "a_gap_in_sequences_is_filled": Mutant(
        "produce",
        "ottla.log.producers",
        (("first != (last + 1) % _SEQUENCES", "first < (last + 1) % _SEQUENCES"),),
    ),
    "offsets_of_partitions_that_are_not_there_are_kept": Mutant(
        "offsets",
        "ottla.broker.handlers.groups.offset_commit",
        (
            (
                "if any(part.partition_index not in exists for part in topic.partitions):",
                "if False:",
            ),
        ),
    ),
    "a_session_takes_any_epoch": Mutant(
        "fetch",
        "ottla.broker.fetching.sessions",
        (("raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)", "pass"),),
    ),
    "a_member_of_an_old_generation_is_kept": Mutant(
        "classic_groups",
        "ottla.groups.classic.heartbeats",
        (("ErrorCode.ILLEGAL_GENERATION", "ErrorCode.REBALANCE_IN_PROGRESS"),),
    ),
    "whatever_quorum_is_asked_for_is_described": Mutant(
        "cluster",
        "ottla.quorum.describing",
        (("if asked != [(TOPIC, 0)]:", "if not asked:"),),
    ),
}


def source_of(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text()


def patched(mutant: Mutant, source: str) -> str:
    for right, wrong in mutant.patches:
        if source.count(right) != 1:
            raise SystemExit(f"{mutant.module} has {right!r} {source.count(right)} times")
        source = source.replace(right, wrong)
    return source


class Patching(MetaPathFinder):
    """Finds the modules that a mutant changes, and reads them as it has them."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        mutant = self.mutant.of(fullname)
        if mutant is None:
            return None
        spec = PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        assert spec is not None
        assert spec.origin is not None
        spec.loader = PatchedLoader(fullname, spec.origin, mutant)
        return spec


class PatchedLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        """Never from a file of compiled code: that one is right."""
        return compile(patched(self.mutant, Path(self.path).read_text()), self.path, "exec")


def serve_as(mutant: Mutant) -> None:
    """`ottla` with the rest of the command line, and this in it."""
    sys.meta_path.insert(0, Patching(mutant))
    from ottla.cli.main import main

    main()


if __name__ == "__main__":
    serve_as((MUTANTS | WORLDS)[sys.argv.pop(1)])
