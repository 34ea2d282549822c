"""Who may vote: the voters of a quorum, as values. Where they come from is decided elsewhere."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ottla.ids import ZERO_UUID, Uuid
from ottla.wire.records.quorum import (
    Endpoint,
    KRaftVersionFeature,
    VotersRecord,
    VotersVoter,
)

KRAFT_VERSION_MAX = 1


class ReplicaKey(Struct, frozen=True, order=True):
    """A node and the directory its log lies in; without one in a quorum of static voters.

    The directory tells a node that lost its disk from the one that voted.
    """

    id: int
    directory_id: Uuid = ZERO_UUID

    def matches(self, other: "ReplicaKey") -> bool:
        """Whether `other` may be this one: an unknown directory is taken on trust."""
        if self.id != other.id:
            return False
        own, its = self.directory_id, other.directory_id
        return own in (its, ZERO_UUID) or its == ZERO_UUID


class Address(Struct, frozen=True, order=True):
    listener: str
    host: str
    port: int


class Voter(Struct, frozen=True):
    key: ReplicaKey
    endpoints: tuple[Address, ...] = ()
    kraft_versions: tuple[int, int] = (0, KRAFT_VERSION_MAX)


class VoterSet:
    """In the order of their keys; never changed."""

    __slots__ = ("by_id", "voters")

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self.voters = tuple(sorted(voters, key=lambda voter: voter.key))
        self.by_id = {voter.key.id: voter for voter in self.voters}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self.voters == other.voters

    def __hash__(self) -> int:
        return hash(self.voters)

    def __repr__(self) -> str:
        return f"VoterSet({self.voters!r})"

    @classmethod
    def static(cls, addresses: Iterable[tuple[int, Address]]) -> "VoterSet":
        """`controller.quorum.voters`: ids and addresses, no directories."""
        return cls(
            tuple(Voter(ReplicaKey(node), (address,), (0, 0)) for node, address in addresses)
        )

    def __len__(self) -> int:
        return len(self.voters)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    @property
    def ids(self) -> list[int]:
        return [voter.key.id for voter in self.voters]

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def has(self, key: ReplicaKey) -> bool:
        voter = self.by_id.get(key.id)
        return voter is not None and voter.key.matches(key)

    def only(self, key: ReplicaKey) -> bool:
        return len(self.voters) == 1 and self.has(key)

    def others(self, node_id: int) -> list[Voter]:
        return [voter for voter in self.voters if voter.key.id != node_id]

    def with_voter(self, voter: Voter) -> "VoterSet":
        """This set with one added, or replaced where its id is known."""
        return VoterSet((*self.others(voter.key.id), voter))

    def without(self, node_id: int) -> "VoterSet":
        return VoterSet(tuple(self.others(node_id)))

    def to_record(self) -> VotersRecord:
        return VotersRecord(voters=[_voter_to_record(voter) for voter in self.voters])

    @classmethod
    def from_record(cls, record: VotersRecord) -> "VoterSet":
        return cls(tuple(_voter_from_record(voter) for voter in record.voters))


def _voter_to_record(voter: Voter) -> VotersVoter:
    low, high = voter.kraft_versions
    return VotersVoter(
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        endpoints=[
            Endpoint(name=address.listener, host=address.host, port=address.port)
            for address in voter.endpoints
        ],
        k_raft_version_feature=KRaftVersionFeature(
            min_supported_version=low, max_supported_version=high
        ),
    )


def _voter_from_record(voter: VotersVoter) -> Voter:
    feature = voter.k_raft_version_feature
    return Voter(
        ReplicaKey(voter.voter_id, bytes(voter.voter_directory_id)),
        tuple(Address(entry.name, entry.host, entry.port) for entry in voter.endpoints),
        (feature.min_supported_version, feature.max_supported_version),
    )
