"""Sets of global transaction ids: MariaDB's `0-1-5,1-2-7`, and MySQL's `uuid:1-5`.

A set's text is Debezium's, for offsets and schema histories.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pymysqlreplication.gtid import Gtid, GtidSet


@dataclass(frozen=True, slots=True)
class MariaDbGtids:
    """The last sequence number of each domain and server."""

    last: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return ",".join(f"{domain}-{server}-{n}" for (domain, server), n in self.last.items())

    @property
    def connect_state(self) -> str:
        """What a replica says when it connects: one for each domain."""
        newest: dict[int, tuple[int, int]] = {}
        for (domain, server), number in self.last.items():
            newest[domain] = max(newest.get(domain, (0, 0)), (number, server))
        return ",".join(f"{domain}-{server}-{n}" for domain, (n, server) in newest.items())

    def with_one(self, gtid: str) -> "MariaDbGtids":
        domain, server, number = map(int, gtid.split("-"))
        return MariaDbGtids({**self.last, (domain, server): number})

    def within(self, other: "MariaDbGtids") -> bool:
        reached = other._by_domain()
        return all(number <= reached.get(domain, 0) for domain, number in self._by_domain().items())

    def _by_domain(self) -> dict[int, int]:
        highest: dict[int, int] = {}
        for (domain, _server), number in self.last.items():
            highest[domain] = max(highest.get(domain, 0), number)
        return highest


@dataclass(frozen=True, slots=True)
class MySqlGtids:
    text: str = ""

    def with_one(self, gtid: str) -> "MySqlGtids":
        merged = GtidSet(self.text)
        merged.merge_gtid(Gtid(gtid))
        return MySqlGtids(str(merged))

    def within(self, other: "MySqlGtids") -> bool:
        reached = GtidSet(other.text)
        return all(one in reached for one in GtidSet(self.text).gtids)

    def encoded(self) -> bytes:
        """As COM_BINLOG_DUMP_GTID sends it."""
        data: bytes = GtidSet(self.text).encoded()
        return data


def gtids(text: str) -> "MariaDbGtids | MySqlGtids":
    """The form tells the server."""
    said = "".join(text.split())
    if ":" in said:
        return MySqlGtids(said)
    last: dict[tuple[int, int], int] = {}
    for one in filter(None, said.split(",")):
        domain, server, number = map(int, one.split("-"))
        last[domain, server] = number
    return MariaDbGtids(last)
