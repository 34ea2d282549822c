"""One member of the quorum: its state, its changes of role, and the effects it collects.

What makes it change is decided in `elections`, `leading`, `following` and `reconfiguration`.
"""

import logging
from typing import NamedTuple, Protocol

from ottla.errors import ErrorCode
from ottla.quorum.config import QuorumConfig
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import (
    Effect,
    Flush,
    Known,
    LeaderChanged,
    Persist,
    Request,
    Send,
    Vote,
)
from ottla.quorum.log_state import LogState
from ottla.quorum.roles import (
    MAY_BECOME,
    CandidateState,
    FollowerState,
    LeaderState,
    ProspectiveState,
    ResignedState,
    Role,
    UnattachedState,
)
from ottla.quorum.voter_history import VoterHistory
from ottla.quorum.voters import ReplicaKey, VoterSet

logger = logging.getLogger(__name__)


class Rng(Protocol):
    def random(self) -> float: ...


class Outgoing(NamedTuple):
    """A request that was sent and not answered yet."""

    node: int | None
    address: tuple[str, int]
    request: Request
    deadline: float


class RaftMember:
    def __init__(
        self,
        now: float,
        config: QuorumConfig,
        rng: Rng,
        election: ElectionState,
        log: LogState,
        history: VoterHistory,
    ) -> None:
        self.config = config
        self.id = config.node_id
        self.key: ReplicaKey = config.key
        self.rng = rng
        self.election = election
        self.log = log
        self.history = history
        self.high_watermark = log.snapshot_id.end_offset if log.snapshot_id else 0
        self.effects: list[Effect] = []
        self.outgoing: dict[int, Outgoing] = {}
        self.retry_at: dict[tuple[str, int], float] = {}
        self.flush_asked: Flush | None = None
        self.role: Role = UnattachedState(now + self.election_timeout())
        self._numbers = 0
        self._next_bootstrap = 0

    # --- what it knows ------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.election.epoch

    @property
    def voters(self) -> VoterSet:
        return self.history.voters

    @property
    def is_voter(self) -> bool:
        return self.config.is_controller and self.voters.has(self.key)

    @property
    def may_stand(self) -> bool:
        """Whether we may ask for votes: also while the change that removes us is not committed,
        because our log may be the only one that the others must accept it from."""
        _, committed = self.history.at(self.high_watermark)
        return self.is_voter or (self.config.is_controller and committed.has(self.key))

    @property
    def leader(self) -> int | None:
        """Who leads this epoch; ourselves only while we do."""
        leader = self.election.leader
        return None if leader == self.id and not isinstance(self.role, LeaderState) else leader

    def known(self, error: ErrorCode = ErrorCode.NONE, detail: str | None = None) -> Known:
        return Known(error, self.epoch, self.leader, self.leader_address(), detail)

    def leader_address(self) -> tuple[str, int] | None:
        match self.role:
            case LeaderState():
                return self.config.place(self.config.endpoints)
            case FollowerState(address=address):
                return address
        return None if self.leader is None else self.address_of(self.leader)

    def address_of(self, node: int) -> tuple[str, int] | None:
        voter = self.voters.by_id.get(node)
        return None if voter is None else self.config.place(voter.endpoints)

    # --- time ---------------------------------------------------------------------------------

    def election_timeout(self) -> float:
        """Random, so that not all stand at the same moment."""
        return self.config.election_timeout * (1 + self.rng.random())

    # --- effects ------------------------------------------------------------------------------

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def flush(self) -> None:
        """Ask for a sync of all that is appended, unless that is asked for already."""
        log = self.log
        if log.flushed < log.end_offset:
            wanted = Flush(log.generation, log.end_offset)
            if self.flush_asked != wanted:
                self.flush_asked = wanted
                self.emit(wanted)

    def send(self, now: float, node: int | None, address: tuple[str, int], request: Request) -> int:
        self._numbers += 1
        timeout = self.config.request_timeout
        self.outgoing[self._numbers] = Outgoing(node, address, request, now + timeout)
        self.emit(Send(self._numbers, node, address, request, timeout))
        return self._numbers

    def may_send(self, now: float, address: tuple[str, int], request: Request) -> bool:
        """Not while the place backs off, nor while a request of the kind is under way to it.

        A vote of another election is of another kind: it must not hold up this one.
        """
        if now < self.retry_at.get(address, 0):
            return False
        return not any(
            out.address == address and _is_alike(out.request, request)
            for out in self.outgoing.values()
        )

    def next_bootstrap(self) -> tuple[str, int] | None:
        """Somebody who may know the leader: bootstrap servers and voters, one after the other."""
        others = (self.config.place(voter.endpoints) for voter in self.voters.others(self.id))
        places = [place for place in others if place is not None]
        places += [place for place in self.config.bootstrap_servers if place not in places]
        own = {(address.host, address.port) for address in self.config.endpoints}
        places = [place for place in places if place not in own]
        if not places:
            return None
        self._next_bootstrap += 1
        return places[self._next_bootstrap % len(places)]

    # --- changes of epoch and role ------------------------------------------------------------

    def persist(self, election: ElectionState) -> None:
        assert election.epoch >= self.election.epoch
        if election != self.election:
            self.election = election
            ids = tuple(self.voters.ids)
            self.emit(Persist(election, self.history.kraft_version, ids))

    def become(self, role: Role) -> None:
        assert type(role) in MAY_BECOME[type(self.role)], (self.role, role)
        logger.debug("node %d, epoch %d: %s", self.id, self.epoch, role)
        self.role = role

    def become_unattached(self, now: float, epoch: int) -> None:
        """Another epoch, of which no leader is known; or the same, its leader given up."""
        before = self.leader
        if epoch > self.epoch:
            self.persist(ElectionState(epoch))
        self.become(UnattachedState(now + self.election_timeout()))
        if before is not None and self.leader is None:
            self.emit(LeaderChanged(None, self.epoch))

    def become_follower(
        self, now: float, epoch: int, leader: int, address: tuple[str, int]
    ) -> None:
        voted = self.election.voted if epoch == self.epoch else None
        self.persist(ElectionState(epoch, leader, voted))
        deadline = now + self.config.fetch_timeout
        update_at = now + self.config.fetch_timeout
        self.become(FollowerState(leader, address, deadline, update_voter_at=update_at))
        self.retry_at.pop(address, None)
        self.emit(LeaderChanged(leader, epoch))

    def become_prospective(self, now: float, retries: int = 0) -> None:
        deadline = now + self.election_timeout()
        self.become(ProspectiveState(deadline, {self.id}, retries=retries))
        self.retry_at.clear()

    def become_candidate(self, now: float, retries: int) -> None:
        self.persist(ElectionState(self.epoch + 1, None, self.key))
        self.become(CandidateState(now + self.election_timeout(), {self.id}, retries=retries))
        self.emit(LeaderChanged(None, self.epoch))

    def become_resigned(
        self, now: float, candidates: tuple[ReplicaKey, ...], for_good: bool
    ) -> None:
        self.retry_at.clear()
        unaware = {voter.key.id for voter in self.voters.others(self.id)}
        self.become(ResignedState(now + self.election_timeout(), unaware, candidates, for_good))
        self.emit(LeaderChanged(None, self.epoch))


def _is_alike(one: Request, other: Request) -> bool:
    if isinstance(one, Vote) and isinstance(other, Vote):
        return (one.epoch, one.pre_vote) == (other.epoch, other.pre_vote)
    return type(one) is type(other)
