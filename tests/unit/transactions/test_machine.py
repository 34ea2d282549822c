"""Every way through a transaction, as values in and values out."""

from itertools import count

import pytest
from msgspec.structs import replace

from ottla.coordination.records import decode_entry, encode_entry
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.transactions import machine, records
from ottla.transactions.machine import EndTransaction, InitProducer, Step
from ottla.transactions.states import LAST_EPOCH, Transaction, TransactionState
from ottla.wire.records.transactions import TransactionLogValue

ORDERS = TopicPartition("orders", 0)
TOTALS = TopicPartition("totals", 3)


def init(current: Transaction | None, expected: tuple[int, int] | None = None) -> Step:
    ask = InitProducer(transactional_id="app", timeout_ms=60_000, expected=expected)
    return machine.init_producer(current, ask, 1_000, count(70).__next__)


def begun() -> Transaction:
    return written(init(None))


def written(step: Step) -> Transaction:
    assert step.after is not None
    return step.after


def add(current: Transaction | None, *partitions: TopicPartition, version: int = 2) -> Transaction:
    assert current is not None
    return written(
        machine.add_partitions(
            current,
            current.producer_id,
            current.producer_epoch,
            frozenset(partitions),
            2_000,
            version,
        )
    )


def end(current: Transaction, *, commit: bool, version: int = 2, epoch: int | None = None) -> Step:
    ask = EndTransaction(
        producer_id=current.producer_id,
        producer_epoch=current.producer_epoch if epoch is None else epoch,
        commit=commit,
        client_version=version,
    )
    return machine.end(current, ask, 3_000, count(90).__next__)


def ended(*, commit: bool, version: int = 2) -> Transaction:
    """A transaction whose markers are written."""
    prepared = written(end(add(begun(), ORDERS), commit=commit, version=version))
    return machine.complete(prepared, 4_000)


def aborted_by_the_server(version: int = 2) -> Transaction:
    fenced = machine.fence(add(begun(), ORDERS), 3_000, version, count(90).__next__)
    return machine.complete(fenced, 4_000)


def refusal(call: object, *args: object, **kwargs: object) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        call(*args, **kwargs)  # type: ignore[operator]
    return caught.value.code


def test_a_new_transactional_id_gets_a_producer_id_and_epoch_0() -> None:
    fresh = begun()
    assert (fresh.producer_id, fresh.producer_epoch, fresh.state) == (70, 0, TransactionState.EMPTY)


def test_asking_again_bumps_the_epoch_and_so_fences_the_producer_before() -> None:
    again = written(init(begun()))
    assert again.producer_epoch == 1
    assert refusal(init, again, (70, 0)) == ErrorCode.PRODUCER_FENCED


def test_a_repeated_request_with_the_old_epoch_is_answered_with_the_bumped_one() -> None:
    bumped = written(init(begun(), expected=(70, 0)))
    assert bumped.producer_epoch == 1
    assert written(init(bumped, expected=(70, 0))).producer_epoch == 1


def test_init_during_a_transaction_aborts_it_and_asks_the_client_to_come_again() -> None:
    step = init(add(begun(), ORDERS))
    assert step.told == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (written(step).state, written(step).producer_epoch) == (
        TransactionState.PREPARE_ABORT,
        1,
    )
    assert refusal(init, written(step)) == ErrorCode.CONCURRENT_TRANSACTIONS


def test_version_2_bumps_the_epoch_with_each_transaction_and_version_1_does_not() -> None:
    assert written(end(add(begun(), ORDERS), commit=True)).producer_epoch == 1
    assert written(end(add(begun(), ORDERS), commit=True, version=1)).producer_epoch == 0


def test_a_commit_goes_through_prepare_to_complete_and_forgets_its_partitions() -> None:
    prepared = written(end(add(begun(), ORDERS, TOTALS), commit=True))
    assert prepared.state is TransactionState.PREPARE_COMMIT
    assert prepared.partitions == {ORDERS, TOTALS}
    done = machine.complete(prepared, 4_000)
    assert (done.state, done.partitions) == (TransactionState.COMPLETE_COMMIT, frozenset())


def test_a_late_end_of_the_transaction_before_cannot_end_the_next_one() -> None:
    done = machine.complete(written(end(add(begun(), ORDERS), commit=True)), 4_000)
    following = add(done, ORDERS)
    assert refusal(end, following, commit=False, epoch=0) == ErrorCode.PRODUCER_FENCED


def test_a_repeated_commit_is_answered_and_a_contradicting_abort_refused() -> None:
    prepared = written(end(add(begun(), ORDERS), commit=True))
    assert refusal(end, prepared, commit=True, epoch=0) == ErrorCode.CONCURRENT_TRANSACTIONS
    done = machine.complete(prepared, 4_000)
    assert end(done, commit=True, epoch=0) == Step(None)
    assert refusal(end, done, commit=False, epoch=0) == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("began", ["commit", "abort"])
@pytest.mark.parametrize("then", ["commit", "abort"])
@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_while_markers_are_written_any_end_of_version_2_is_to_come_again(
    began: str, then: str, epoch: int
) -> None:
    prepared = written(end(add(begun(), ORDERS), commit=began == "commit"))
    told = refusal(end, prepared, commit=then == "commit", epoch=epoch)
    assert told == ErrorCode.CONCURRENT_TRANSACTIONS
    other = EndTransaction(producer_id=71, producer_epoch=0, commit=True, client_version=2)
    told = refusal(machine.end, prepared, other, 3_000, count(90).__next__)
    assert told == ErrorCode.CONCURRENT_TRANSACTIONS


def test_while_markers_are_written_version_1_looks_at_id_and_epoch_first() -> None:
    prepared = written(end(add(begun(), ORDERS), commit=True, version=1))
    for commit in (True, False):
        told = refusal(end, prepared, commit=commit, version=1)
        assert told == ErrorCode.CONCURRENT_TRANSACTIONS
    assert refusal(end, prepared, commit=True, version=1, epoch=1) == ErrorCode.PRODUCER_FENCED
    other = EndTransaction(producer_id=71, producer_epoch=0, commit=True, client_version=0)
    told = refusal(machine.end, prepared, other, 3_000, count(90).__next__)
    assert told == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_while_markers_are_written_nothing_is_added_or_begun_whoever_asks() -> None:
    prepared = written(end(add(begun(), ORDERS), commit=True))
    for producer in ((70, 0), (70, 1), (71, 0)):
        told = refusal(machine.add_partitions, prepared, *producer, frozenset({TOTALS}), 0)
        assert told == ErrorCode.CONCURRENT_TRANSACTIONS
        assert refusal(init, prepared, producer) == ErrorCode.CONCURRENT_TRANSACTIONS
    told = refusal(machine.verify_partitions, prepared, 71, 0, frozenset({ORDERS}))
    assert told == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    told = refusal(machine.verify_partitions, prepared, 70, 0, frozenset({ORDERS}))
    assert told == ErrorCode.PRODUCER_FENCED
    told = refusal(machine.verify_partitions, prepared, 70, 1, frozenset({ORDERS}))
    assert told == ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_producer_whose_transaction_the_server_aborted_goes_on_with_its_next_epoch() -> None:
    aborted = aborted_by_the_server()
    assert (aborted.producer_epoch, aborted.last_producer_epoch) == (1, 0)
    again = written(init(aborted, expected=(70, 0)))
    assert (again.producer_id, again.producer_epoch) == (70, 1)


def test_a_server_of_version_1_lets_no_producer_go_on_that_it_aborted() -> None:
    assert refusal(init, aborted_by_the_server(version=1), (70, 0)) == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_of_version_1_with_the_epoch_before_is_fenced(commit: bool) -> None:
    for before in (aborted_by_the_server(), ended(commit=True), ended(commit=False)):
        told = refusal(end, before, commit=commit, version=1, epoch=0)
        assert told == ErrorCode.PRODUCER_FENCED


def test_an_end_of_version_1_repeats_by_its_epoch_and_contradicts_by_its_state() -> None:
    for commit in (True, False):
        done = ended(commit=commit)
        assert end(done, commit=commit, version=1) == Step(None)
        told = refusal(end, done, commit=not commit, version=1)
        assert told == ErrorCode.INVALID_TXN_STATE


def test_version_2_repeats_what_version_1_ended_only_by_the_epoch_before() -> None:
    """The table of KIP-890 for completed transactions, whoever ended them."""
    for version in (1, 2):
        for commit in (True, False):
            done = replace(ended(commit=commit, version=version), producer_epoch=5)
            assert end(done, commit=commit, epoch=4) == Step(None)
            assert refusal(end, done, commit=not commit, epoch=4) == ErrorCode.INVALID_TXN_STATE
            assert refusal(end, done, commit=True, epoch=5) == ErrorCode.INVALID_TXN_STATE
            assert written(end(done, commit=False, epoch=5)).producer_epoch == 6
            assert refusal(end, done, commit=commit, epoch=3) == ErrorCode.PRODUCER_FENCED
            assert refusal(end, done, commit=commit, epoch=6) == ErrorCode.PRODUCER_FENCED


def test_an_end_with_the_epoch_before_is_fenced_where_nothing_has_ended() -> None:
    bumped = written(init(begun(), expected=(70, 0)))
    for commit in (True, False):
        assert refusal(end, bumped, commit=commit, epoch=0) == ErrorCode.PRODUCER_FENCED


def test_a_version_2_client_may_abort_a_transaction_that_never_began() -> None:
    assert written(end(begun(), commit=False)).state is TransactionState.PREPARE_ABORT
    assert refusal(end, begun(), commit=True) == ErrorCode.INVALID_TXN_STATE
    assert refusal(end, begun(), commit=False, version=1) == ErrorCode.INVALID_TXN_STATE


def test_partitions_already_in_the_transaction_need_no_write() -> None:
    ongoing = add(begun(), ORDERS)
    again = machine.add_partitions(ongoing, 70, 0, frozenset({ORDERS}), 2_000)
    assert again == Step(None)


def test_a_stranger_cannot_add_partitions() -> None:
    assert (
        refusal(machine.add_partitions, begun(), 71, 0, frozenset({ORDERS}), 0)
        == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    assert (
        refusal(machine.add_partitions, begun(), 70, 1, frozenset({ORDERS}), 0)
        == ErrorCode.PRODUCER_FENCED
    )
    assert (
        refusal(machine.add_partitions, None, 70, 0, frozenset({ORDERS}), 0)
        == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )


def test_a_late_produce_to_a_partition_outside_the_transaction_is_not_verified() -> None:
    verdict = machine.verify_partitions(add(begun(), ORDERS), 70, 0, frozenset({ORDERS, TOTALS}))
    assert verdict == {ORDERS: ErrorCode.NONE, TOTALS: ErrorCode.TRANSACTION_ABORTABLE}


def test_an_exhausted_producer_id_is_replaced_when_the_markers_are_written() -> None:
    old = replace(add(begun(), ORDERS), producer_epoch=LAST_EPOCH - 1)
    prepared = written(end(old, commit=True))
    assert (prepared.producer_id, prepared.producer_epoch) == (70, LAST_EPOCH)
    done = machine.complete(prepared, 4_000)
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id) == (90, 0, 70)
    repeated = EndTransaction(
        producer_id=70, producer_epoch=LAST_EPOCH - 1, commit=True, client_version=2
    )
    assert machine.end(done, repeated, 5_000, count(95).__next__) == Step(None)


def test_a_transaction_times_out_by_its_own_time_out() -> None:
    ongoing = add(begun(), ORDERS)
    assert not machine.has_timed_out(ongoing, 62_000)
    assert machine.has_timed_out(ongoing, 62_001)


def test_an_idle_transactional_id_expires_but_an_open_transaction_never_does() -> None:
    week = 7 * 24 * 3_600 * 1_000
    assert machine.may_expire(begun(), 1_000 + week, week)
    assert not machine.may_expire(begun(), 999 + week, week)
    assert not machine.may_expire(add(begun(), ORDERS), 10 * week, week)


def test_what_kafka_wrote_is_read_and_written_byte_for_byte() -> None:
    # an ongoing transaction as Apache Kafka 4.3.1 logged it: tags 0 and 2 are set
    value = bytes.fromhex(
        "0001"  # version
        "0000000000000000" "0000" "0000ea60" "01"
        "03" "0274" "02" "00000000" "00" "0275" "02" "00000000" "00"
        "0000019d00000001" "0000019d00000000"
        "02" "0008" "0000000000000000" "0202" "0002"
    )  # fmt: skip
    key = b"\x00\x00\x00\x03tv2"
    entry = decode_entry(key, value, records.RECORDS)
    assert entry is not None
    assert isinstance(entry[1], TransactionLogValue)
    transaction = records.transaction_of("tv2", entry[1])
    assert transaction.state is TransactionState.ONGOING
    assert transaction.partitions == {TopicPartition("t", 0), TopicPartition("u", 0)}
    assert transaction.client_version == 2
    assert encode_entry(records.entry_of(transaction), records.RECORDS) == (key, value)
