"""What a voter must never forget: the epoch, whom it voted for, who leads. Kafka's `quorum-state`.

A quorum of static voters (kraft.version 0) writes data_version 0, a dynamic one data_version 1.
"""

from typing import Any

from msgspec import DecodeError, Struct, json

from ottla.errors import OttlaError
from ottla.ids import ZERO_UUID, parse_uuid, show_uuid
from ottla.quorum.voters import ReplicaKey

FILE_NAME = "quorum-state"


class ElectionState(Struct, frozen=True):
    epoch: int = 0
    leader: int | None = None
    voted: ReplicaKey | None = None

    def to_json(self, kraft_version: int, voters: list[int]) -> bytes:
        leader = -1 if self.leader is None else self.leader
        voted = -1 if self.voted is None else self.voted.id
        content: dict[str, Any] = {"leaderId": leader, "leaderEpoch": self.epoch, "votedId": voted}
        if kraft_version == 0:
            content = {"clusterId": "", **content, "appliedOffset": 0}
            content["currentVoters"] = [{"voterId": voter} for voter in voters]
        else:
            directory = ZERO_UUID if self.voted is None else self.voted.directory_id
            content["votedDirectoryId"] = show_uuid(directory)
        content["data_version"] = min(kraft_version, 1)
        return json.encode(content)

    @classmethod
    def from_json(cls, data: bytes) -> "ElectionState":
        try:
            content = json.decode(data)
            if content["data_version"] not in (0, 1):
                version = content["data_version"]
                raise OttlaError(f"{FILE_NAME}: data_version {version} is of a later Kafka.")
            leader, voted = int(content["leaderId"]), int(content["votedId"])
            directory = parse_uuid(content.get("votedDirectoryId", show_uuid(ZERO_UUID)))
            return cls(
                epoch=int(content["leaderEpoch"]),
                leader=None if leader < 0 else leader,
                voted=None if voted < 0 else ReplicaKey(voted, directory),
            )
        except (DecodeError, ValueError, KeyError, TypeError) as error:
            raise OttlaError(
                f"{FILE_NAME} cannot be read ({error}). A voter must not vote twice: restore the "
                "file, or remove the whole directory to fetch it from the other voters."
            ) from error
