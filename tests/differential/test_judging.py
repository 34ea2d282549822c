"""What counts as a difference, and what is left of a sequence that has one."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from socket import socketpair

from differential.allowed import Place, line_of
from differential.brokers import Rendezvous
from differential.campaign import FIRST_SEED, Slice, Suspect, keep, next_seed, totals
from differential.comparable import Comparable, Comparer, differences
from differential.comparing import Runner, Sides, compare
from differential.running import Broker, Patience, Run, patient
from differential.shrinking import shrink
from differential.steps import Area, Move, Pause, Restart, Sequence, Step
from differential.symbols import Bindings, Name, Ref, resolve
from differential.waiting import drive, drive_all, readable, sleep
from ottla.errors import ErrorCode
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.heartbeat import HeartbeatRequest
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.join_group import JoinGroupRequest
from ottla.wire.messages.list_groups import ListedGroup, ListGroupsResponse
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from ottla.wire.messages.share_fetch import ShareFetchRequest

AREA = Area(name="made-up", draw=lambda random: [])
NONE = {"error_code": "NONE"}
FENCED = {"error_code": "PRODUCER_FENCED"}
WAIT = {"error_code": "CONCURRENT_TRANSACTIONS"}


def sequence(*generations: int) -> Sequence:
    moves = tuple(
        Step(request=HeartbeatRequest(generation_id=each), version=4) for each in generations
    )
    return Sequence(area="made-up", seed=0, moves=moves)


def generation(move: Move) -> int:
    assert isinstance(move, Step)
    assert isinstance(move.request, HeartbeatRequest)
    return move.request.generation_id


def answering(answer: Callable[[list[int], int], Comparable]) -> Runner:
    """A broker whose answer depends on the generations it was told, and on how often it ran."""
    ran = 0

    async def run(asked: Sequence, patience: Patience) -> list[Comparable]:
        nonlocal ran
        ran += 1
        told = [generation(move) for move in asked.moves]
        return [answer(told[: n + 1], ran) for n in range(len(told))]

    return run


def saying(*answers: Comparable) -> Runner:
    """A broker that always says this."""

    async def run(asked: Sequence, patience: Patience) -> list[Comparable]:
        return list(answers)

    return run


def test_the_same_answers_are_no_difference() -> None:
    always = answering(lambda told, ran: NONE)
    assert drive(compare(Sides(always, always), sequence(1, 2), "patient")) is None


def test_the_first_step_that_differs_is_told() -> None:
    kafka = answering(lambda told, ran: FENCED if told[-1] == 3 else NONE)
    found = drive(
        compare(Sides(kafka, answering(lambda told, ran: NONE)), sequence(1, 3, 3), "patient")
    )
    assert found is not None
    assert (found.at, found.repeated) == (1, True)
    assert found.kind == 'Heartbeat error_code: "PRODUCER_FENCED" / "NONE"'


def test_a_step_where_kafka_varies_does_not_count() -> None:
    kafka = answering(lambda told, ran: FENCED if ran == 1 else NONE)
    assert (
        drive(compare(Sides(kafka, answering(lambda told, ran: NONE)), sequence(1), "patient"))
        is None
    )


def test_a_step_where_kafka_varies_does_not_hide_those_after_it() -> None:
    def kafka(told: list[int], ran: int) -> Comparable:
        return (FENCED if ran == 1 else NONE) if told[-1] == 1 else FENCED

    both = Sides(answering(kafka), answering(lambda told, ran: NONE))
    found = drive(compare(both, sequence(1, 2), "patient"))
    assert found is not None
    assert (found.at, found.repeated) == (1, True)


def test_a_difference_that_does_not_come_again_is_marked() -> None:
    ottla = answering(lambda told, ran: FENCED if ran == 1 else NONE)
    found = drive(compare(Sides(answering(lambda told, ran: NONE), ottla), sequence(1), "patient"))
    assert found is not None
    assert not found.repeated


def test_who_is_slower_must_come_to_the_quicker_ones_answer() -> None:
    async def hurried(asked: Sequence, patience: Patience) -> list[Comparable]:
        return [NONE if patience(n) else WAIT for n in range(len(asked.moves))]

    quick = answering(lambda told, ran: NONE)
    wrong = answering(lambda told, ran: FENCED)
    assert drive(compare(Sides(hurried, quick), sequence(1), "impatient")) is None
    assert drive(compare(Sides(quick, hurried), sequence(1), "impatient")) is None
    assert drive(compare(Sides(hurried, wrong), sequence(1), "impatient")) is not None


def test_what_a_difference_does_not_need_is_dropped() -> None:
    kafka = answering(lambda told, ran: FENCED if {2, 5, 7} <= set(told) else NONE)
    both = Sides(kafka, answering(lambda told, ran: NONE))
    found = drive(compare(both, sequence(*range(12)), "patient"))
    assert found is not None
    least = shrink(found, lambda tried: drive(compare(both, tried, "patient")))
    assert [generation(step) for step in least.sequence.moves] == [2, 5, 7]


def test_a_symbol_is_what_its_own_side_was_told() -> None:
    bindings = Bindings("d1-")
    request = InitProducerIdRequest(
        transactional_id=Name("x"), producer_id=Ref("id", 9), producer_epoch=Ref("e", 0, plus=1)
    )
    assert resolve(request, bindings).producer_id == 9
    for number, epoch in ((4000, 0), (-1, -1), (4001, 1)):
        bindings.bind("id", number)
        bindings.bind("e", epoch)
    resolved = resolve(request, bindings)
    assert (resolved.transactional_id, resolved.producer_id, resolved.producer_epoch) == (
        "d1-x",
        4001,
        2,
    )
    assert resolve(Ref("id", back=1), bindings) == 4000


def test_ids_are_compared_by_the_step_that_told_them() -> None:
    def said(first: int, second: int) -> list[Comparable]:
        comparer, told = Comparer(AREA, "d1-"), []
        for number, producer_id in enumerate((first, second, first)):
            comparer.begin(number, InitProducerIdRequest())
            told.append(comparer.compare(InitProducerIdResponse(producer_id=producer_id)))
        return told

    assert said(5, 6) == said(1000, 77)
    assert said(5, 5) != said(5, 6)


def test_an_id_is_named_after_the_first_step_that_told_it_whichever_was_answered_first() -> None:
    step = Step(request=InitProducerIdRequest(), version=4)
    asked = Sequence(area="made-up", seed=0, moves=(step, step))
    run = Run(AREA, asked, Broker("nobody:1"), patient, Bindings("d1-"), {})
    for number in (1, 0):
        run.note(number, step, step.request, InitProducerIdResponse(producer_id=5))
    assert [run.told(0), run.told(1)] == [{"producer_id": "<producer_id of 0>"}] * 2


def test_groups_of_other_sequences_are_not_seen() -> None:
    groups = [ListedGroup(group_id="d1-g"), ListedGroup(group_id="d2-g")]
    comparer = Comparer(AREA, "d1-")
    assert comparer.compare(ListGroupsResponse(groups=groups)) == {"groups": [{"group_id": "~g"}]}


def test_elements_are_compared_by_what_they_are_about() -> None:
    one = {"topics": [{"name": "a", "error_code": ErrorCode.NONE.name}, {"name": "b"}]}
    other = {"topics": [{"name": "b"}]}
    assert differences(one, other) == [("topics[a]", {"name": "a", "error_code": "NONE"}, None)]


def test_runs_that_share_a_broker_wait_for_one_restart() -> None:
    told: list[str] = []
    rendezvous = Rendezvous(lambda: told.append("restart"))

    def run(_: int) -> None:
        with rendezvous:
            told.append("before")
            rendezvous.wait()
            told.append("after")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))
    restarts = told.count("restart")
    assert restarts >= 1
    assert (told.count("before"), told.count("after")) == (6, 6)
    for at, said in enumerate(told):
        before, after = told[:at].count("before"), told[:at].count("after")
        assert said != "after" or "restart" in told[:at]
        assert said != "restart" or before > after


def test_what_was_killed_comes_back_before_others_begin() -> None:
    told: list[str] = []
    rendezvous = Rendezvous(lambda: told.append("kill"), lambda: told.append("heal"))

    def run(_: int) -> None:
        with rendezvous:
            told.append("begin")
            rendezvous.wait()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(9)))
    assert told.count("heal") == told.count("kill") >= 3
    is_dead = False
    for said in told:
        assert said != "begin" or not is_dead
        is_dead = said == "kill" or (is_dead and said != "heal")


def test_where_all_ask_at_once_an_answer_may_be_meant_for_another() -> None:
    asked = Step(request=ProduceRequest(), version=9)
    leaf = ("error_code", "TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")
    assert line_of(asked, leaf, {}, Place(in_a_crowd=True)) is not None
    assert line_of(asked, leaf, {}) is None


def test_after_a_restart_and_only_then_kafka_may_not_yet_have_what_was_acquired() -> None:
    fetch = Step(request=ShareFetchRequest(), version=1)
    both = Sides(saying(None, {}), saying(None, {"responses": []}))
    moves: tuple[Move, ...] = (Restart(), fetch)
    anew = Sequence(area="made-up", seed=0, moves=moves)
    assert drive(compare(both, anew, "patient")) is None
    assert drive(compare(both, replace(anew, moves=(Pause(milliseconds=1), fetch)), "patient"))


def test_a_share_fetch_that_kafka_did_not_foresee_counts_only_for_a_partition() -> None:
    fetches: tuple[Move, ...] = (Step(request=ShareFetchRequest(), version=1),) * 2
    asked = Sequence(area="made-up", seed=0, moves=fetches)
    unforeseen = {"error_code": "UNKNOWN_SERVER_ERROR"}
    answered = saying({"responses": []}, {"responses": [1]})
    assert drive(compare(Sides(saying(unforeseen, {}), answered), asked, "patient")) is None
    of_a_partition = {"responses": [unforeseen]}
    assert drive(compare(Sides(saying(of_a_partition, {}), answered), asked, "patient"))


def test_what_may_differ_after_a_group_was_deleted_may_not_before() -> None:
    answer = Step(request=ShareAcknowledgeRequest(), version=1)
    delete = Step(request=DeleteGroupsRequest(), version=2)
    told: Comparable = {"responses": [{"partitions": [{}]}]}
    refused: Comparable = {
        "responses": [{"partitions": [{"error_code": "NOT_LEADER_OR_FOLLOWER"}]}]
    }
    both = Sides(saying({}, told), saying({}, refused))
    deleted = Sequence(area="made-up", seed=0, moves=(delete, answer))
    assert drive(compare(both, deleted, "impatient")) is None
    assert drive(compare(both, replace(deleted, moves=(answer, answer)), "impatient"))


def test_what_was_still_waited_for_when_a_sequence_ended_does_not_count() -> None:
    join = JoinGroupRequest(group_id="g")
    waits = Step(request=join, version=9, connection="A", blocks=True)
    fails = Step(request=join, version=9, connection="B", blocks=True)
    kafka = saying({"leader": "B"}, {"error_code": "UNKNOWN_SERVER_ERROR"}, {})
    both = Sides(kafka, saying({"leader": "A"}, {"error_code": "MEMBER_ID_REQUIRED"}, {}))
    joined = Sequence(area="made-up", seed=0, moves=(waits, fails))
    assert drive(compare(both, joined, "impatient")) is None
    answered = Sequence(area="made-up", seed=0, moves=(waits, waits, fails))
    kafka = saying({"leader": "B"}, {}, {"error_code": "UNKNOWN_SERVER_ERROR"})
    both = Sides(kafka, saying({"leader": "A"}, {}, {"error_code": "MEMBER_ID_REQUIRED"}))
    assert drive(compare(both, answered, "impatient"))


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log = tmp_path / "campaign"
    assert next_seed(log, "topics") == FIRST_SEED
    keep(log, Slice("topics", FIRST_SEED, FIRST_SEED + 70, 10, "2026-11-18", suspects=1))
    found = [Suspect(FIRST_SEED + 80, "patient", "a kind")]
    keep(log, Slice("topics", FIRST_SEED + 70, FIRST_SEED + 100, 10, "2026-11-18", 1, found))
    assert next_seed(log, "topics") == FIRST_SEED + 100
    assert next_seed(log, "offsets") == FIRST_SEED
    assert next_seed(log, "offsets", 12_000) == 12_000, "what an earlier file, now gone, came to"
    assert next_seed(log, "topics", 12_000) == FIRST_SEED + 100
    [line] = totals(log)
    assert line == (
        f"topics: 100 seeds in 20 s, 5.0/s; 1 differences ({FIRST_SEED + 80} patient),"
        " 0 not every time"
    )


def test_runs_that_wait_are_driven_together() -> None:
    told: list[str] = []
    one, other = socketpair()

    async def read() -> None:
        assert not await readable(one, time.monotonic())
        assert await readable(one, time.monotonic() + 60)
        told.append("read")

    async def rest(name: str) -> None:
        await sleep(0.001)
        told.append(name)

    async def write() -> None:
        assert told == ["a", "b"], "two at a time"
        other.send(b"x")

    with one, other:
        drive_all(iter([read(), rest("a"), rest("b"), write()]), 2)
    assert told == ["a", "b", "read"]
