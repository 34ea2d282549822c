"""Single steps of the machine: what it makes of one event, as values."""

from pathlib import Path
from random import Random

from ottla.errors import ErrorCode
from ottla.log.epoch_table import EpochStart, EpochTable
from ottla.quorum import events
from ottla.quorum.config import QuorumConfig
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import Batch, Divergence, Known, Tick
from ottla.quorum.log_state import LogState
from ottla.quorum.machine import QuorumMachine
from ottla.quorum.roles import (
    CandidateState,
    FollowerState,
    LeaderState,
    ProspectiveState,
    ResignedState,
)
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voter_history import VoterHistory
from ottla.quorum.voters import Address, ReplicaKey, VoterSet

VOTERS = VoterSet.static([(node, Address("C", f"node{node}", 9093)) for node in (1, 2, 3)])


def machine(
    *epochs: tuple[int, int],
    end: int = 0,
    election: ElectionState | None = None,
    listeners: tuple[str, ...] = ("C",),
) -> QuorumMachine:
    """Node 1 of three, with a log of these (epoch, first offset) up to `end`."""
    config = QuorumConfig(
        node_id=1,
        cluster_id="c",
        directory_id=bytes(16),
        log_dir=Path("/nowhere"),
        static_voters=VOTERS,
        endpoints=(Address("C", "node1", 9093),),
        listeners=listeners,
    )
    log = LogState(EpochTable([EpochStart(*entry) for entry in epochs]), end_offset=end)
    state = election or ElectionState(log.last_epoch)
    return QuorumMachine(0.0, config, Random(1), state, log, VoterHistory(VOTERS))


def vote(
    epoch: int, last_epoch: int, end: int, *, by: int = 2, pre_vote: bool = False
) -> events.Received:
    return events.Received(
        "vote", events.Vote(ReplicaKey(by), epoch, last_epoch, end, pre_vote, ReplicaKey(1))
    )


def granted(effects: list[events.Effect]) -> bool:
    (reply,) = [effect for effect in effects if isinstance(effect, events.Reply)]
    assert isinstance(reply.response, events.VoteReply)
    return reply.response.granted


def sent(effects: list[events.Effect], kind: type) -> list[events.Send]:
    return [
        effect
        for effect in effects
        if isinstance(effect, events.Send) and isinstance(effect.request, kind)
    ]


def following(
    leader: int = 2, epoch: int = 1, *epochs: tuple[int, int], end: int = 0
) -> QuorumMachine:
    """A follower that has heard from its leader."""
    one = machine(*epochs, end=end, election=ElectionState(epoch, leader))
    (fetch,) = sent(one.step(0.0, Tick()), events.Fetch)
    known = Known(ErrorCode.NONE, epoch, leader)
    one.step(0.01, events.Answered(fetch.number, events.FetchReply(known, 0)))
    return one


def elected(*epochs: tuple[int, int], end: int = 0) -> QuorumMachine:
    """Node 1, leading since the moment 1.0 with the vote of node 2."""
    one = machine(*epochs, end=end)
    effects = one.step(1.0, Tick())
    for _ in range(2):  # the pre-vote, then the vote
        ballots = sent(effects, events.Vote)
        known = Known(ErrorCode.NONE, one.member.epoch, None)
        reply = events.VoteReply(known, True)
        effects = one.step(1.0, events.Answered(ballots[0].number, reply))
    assert isinstance(one.member.role, LeaderState)
    return one


def test_a_vote_is_on_disk_before_it_is_told() -> None:
    effects = machine().step(0.1, vote(1, 0, 0))
    order = [type(effect) for effect in effects]
    assert order.index(events.Persist) < order.index(events.Reply)
    assert granted(effects)


def test_there_is_one_vote_an_epoch() -> None:
    one = machine()
    assert granted(one.step(0.1, vote(1, 0, 0, by=2)))
    assert not granted(one.step(0.2, vote(1, 0, 0, by=3)))
    assert granted(one.step(0.3, vote(1, 0, 0, by=2)))


def test_a_shorter_log_gets_no_vote() -> None:
    assert not granted(machine((3, 0), end=10).step(0.1, vote(4, 3, 9)))
    assert not granted(machine((3, 0), end=10).step(0.1, vote(4, 2, 99)))
    assert granted(machine((3, 0), end=10).step(0.1, vote(4, 3, 10)))


def test_who_hears_from_its_leader_refuses_a_pre_vote() -> None:
    one = following()
    assert not granted(one.step(0.1, vote(1, 0, 0, by=3, pre_vote=True)))
    one.step(0.2, events.Disconnected(2))
    assert granted(one.step(0.2, vote(1, 0, 0, by=3, pre_vote=True)))


def test_the_closed_socket_of_a_leader_starts_a_pre_vote_soon() -> None:
    one = following()
    one.step(1.0, events.Disconnected(2))
    assert one.next_deadline() <= 1.1
    effects = one.step(1.1, Tick())
    assert isinstance(one.member.role, ProspectiveState)
    assert {send.node for send in sent(effects, events.Vote)} == {2, 3}
    assert one.member.epoch == 1


def test_a_pre_vote_that_is_refused_leads_back_to_the_leader() -> None:
    one = following()
    one.step(1.0, events.Disconnected(2))
    ballots = sent(one.step(1.1, Tick()), events.Vote)
    refused = events.VoteReply(Known(ErrorCode.NONE, 1, 2), False)
    for ballot in ballots:
        one.step(1.2, events.Answered(ballot.number, refused))
    assert isinstance(one.member.role, FollowerState)
    assert one.member.epoch == 1


def test_a_candidate_follows_whoever_was_elected() -> None:
    one = machine()
    ballots = sent(one.step(1.0, Tick()), events.Vote)
    yes = events.VoteReply(Known(ErrorCode.NONE, 0, None), True)
    one.step(1.0, events.Answered(ballots[0].number, yes))
    assert isinstance(one.member.role, CandidateState)
    begin = events.BeginEpoch(3, one.member.epoch, (), ReplicaKey(1))
    one.step(1.1, events.Received("begin", begin))
    assert isinstance(one.member.role, FollowerState)


def test_a_tie_is_broken_soon_when_the_third_voter_is_dead() -> None:
    one = machine()
    ballots = sent(one.step(1.0, Tick()), events.Vote)
    yes = events.VoteReply(Known(ErrorCode.NONE, 0, None), True)
    votes = sent(one.step(1.0, events.Answered(ballots[0].number, yes)), events.Vote)
    assert isinstance(one.member.role, CandidateState)
    no = events.VoteReply(Known(ErrorCode.NONE, 1, None), False)
    one.step(1.01, events.Answered(votes[0].number, no))
    one.step(1.01, events.Failed(votes[1].number, refused=True))
    assert one.member.role.deadline <= 1.11


def fetch(leader: QuorumMachine, node: int, offset: int, last_epoch: int) -> events.Received:
    ask = events.Fetch(ReplicaKey(node), leader.member.epoch, offset, last_epoch, 0, 0.5)
    return events.Received(f"fetch of {node}", ask)


def test_records_of_earlier_epochs_are_committed_only_along_with_an_own_one() -> None:
    leader = elected((1, 0), end=5)
    leader.step(1.1, events.Flushed(0, 6))
    leader.step(1.1, fetch(leader, 2, 5, 1))
    assert leader.member.high_watermark == 0
    effects = leader.step(1.2, fetch(leader, 2, 6, 2))
    assert events.Commit(6) in effects
    assert events.LeaderChanged(1, 2) in effects


def test_what_is_not_synced_here_does_not_count() -> None:
    leader = elected((1, 0), end=5)
    leader.step(1.1, fetch(leader, 2, 6, 2))
    assert leader.member.high_watermark == 0
    assert events.Commit(6) in leader.step(1.2, events.Flushed(0, 6))


def test_a_leader_that_nobody_fetches_from_resigns() -> None:
    leader = elected()
    assert isinstance(leader.member.role, LeaderState)
    effects = leader.step(1.0 + 3.01, Tick())
    assert isinstance(leader.member.role, ResignedState)
    assert {send.node for send in sent(effects, events.EndEpoch)} == {2, 3}


def test_the_first_named_successor_stands_at_once() -> None:
    one = following()
    end = events.EndEpoch(2, 1, (), (ReplicaKey(1), ReplicaKey(3)))
    one.step(0.5, events.Received("end", end))
    assert isinstance(one.member.role, ProspectiveState)


def test_a_leader_names_the_end_of_the_epoch_it_shares() -> None:
    leader = elected((1, 0), (3, 10), end=20)
    effects = leader.step(1.1, fetch(leader, 2, 15, 2))
    (reply,) = [effect for effect in effects if isinstance(effect, events.Reply)]
    assert isinstance(reply.response, events.FetchReply)
    assert reply.response.diverging == Divergence(1, 10)


def test_a_follower_cuts_by_epoch_and_never_below_what_is_committed() -> None:
    one = following(2, 5, (1, 0), (2, 10), end=15)
    (number,) = one.member.outgoing
    known = Known(ErrorCode.NONE, 5, 2)
    reply = events.FetchReply(known, 0, diverging=Divergence(1, 12))
    effects = one.step(0.2, events.Answered(number, reply))
    assert events.Truncate(10) in effects
    assert one.member.log.end_offset == 10


def test_a_fetch_is_sent_only_after_what_it_acknowledges_is_synced() -> None:
    one = following()
    (number,) = one.member.outgoing
    known = Known(ErrorCode.NONE, 1, 2)
    reply = events.FetchReply(known, 0, batches=(Batch(0, 4, 1),), records=b"...")
    effects = one.step(0.2, events.Answered(number, reply))
    assert events.Flush(0, 4) in effects
    assert not sent(effects, events.Fetch)
    (again,) = sent(one.step(0.3, events.Flushed(0, 4)), events.Fetch)
    assert isinstance(again.request, events.Fetch)
    assert again.request.offset == 4


def test_a_log_that_ends_before_ours_begins_is_sent_to_the_snapshot() -> None:
    log = LogState(EpochTable([EpochStart(2, 50)]), start_offset=50, end_offset=60)
    log.snapshot_id = SnapshotId(50, 1)
    assert log.check(20, 1) == SnapshotId(50, 1)
    assert log.check(0, 0) == SnapshotId(50, 1)
    assert log.check(50, 1) is None
    assert log.check(55, 2) is None
    assert log.check(55, 1) == Divergence(1, 50)


# Controllers with two listeners, while a cluster moves from one to the other ---------------------

BOTH = (Address("OLD", "node2", 1), Address("C", "node2", 9093))


def address_after(one: QuorumMachine, event: events.Event) -> tuple[str, int]:
    one.step(0.0, event)
    role = one.member.role
    assert isinstance(role, FollowerState)
    return role.address


def test_of_a_leader_s_listeners_the_one_is_taken_that_we_speak() -> None:
    begin = events.Received("begin", events.BeginEpoch(2, 5, BOTH, ReplicaKey(1)))
    assert address_after(machine(), begin) == ("node2", 9093)
    assert address_after(machine(listeners=("OLD", "C")), begin) == ("node2", 1)


def test_the_address_that_another_uses_for_the_leader_is_not_taken_for_ours() -> None:
    """Who answers may speak another protocol with it than we do."""
    for listeners, expected in ((("C", "OLD"), 9093), (("C",), 1)):
        one = machine(listeners=listeners)
        (ask, *_) = sent(one.step(0.0, Tick()), events.Fetch) or sent(
            one.step(5.0, Tick()), events.Vote
        )
        known = Known(ErrorCode.NONE, 5, 2, ("node2", 1))
        reply = events.VoteReply(known, False)
        assert address_after(one, events.Answered(ask.number, reply)) == ("node2", expected)
