"""JDBC URLs as users have them: which database, where, with which properties. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

SERVED = "jdbc:postgresql:, jdbc:mariadb:, jdbc:mysql: and jdbc:sqlite:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a URL leads, and as whom."""

    dialect: str
    hosts: tuple[tuple[str, int], ...] = ()
    database: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    purpose: str = "source"  # or sink: databases that show who is connected show it

    @property
    def shown(self) -> str:
        """For sentences: neither user nor password nor properties."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{self.dialect}://{hosts}/{self.database}" if hosts else self.database


_DIALECTS = {
    "postgresql": ("postgresql", 5432),
    "mariadb": ("mariadb", 3306),
    "mysql": ("mariadb", 3306),
}


def read_url(url: str, user: str | None, password: str | None, purpose: str) -> Target:
    """ValueError says what is wrong with it."""
    scheme, _, rest = url.strip().partition(":")
    product, _, place = rest.partition(":")
    if scheme.lower() != "jdbc" or not product:
        raise ValueError(f"it is no JDBC URL; served are {SERVED}")
    if product == "sqlite":
        return Target(dialect="sqlite", database=place, purpose=purpose)
    if product not in _DIALECTS:
        raise ValueError(f"there is no driver for jdbc:{product}: here; served are {SERVED}")
    dialect, port = _DIALECTS[product]
    place, _, said = place.partition("?")
    properties = dict(parse_qsl(said, keep_blank_values=True))
    hosts, database = _place(place, port)
    return Target(
        dialect=dialect,
        hosts=hosts,
        database=database,
        user=user or properties.pop("user", None),
        password=password if password is not None else properties.pop("password", None),
        purpose=purpose,
        properties={name: value for name, value in properties.items() if name != "password"},
    )


def _place(place: str, port: int) -> tuple[tuple[tuple[str, int], ...], str]:
    if not place.startswith("//"):
        return (("localhost", port),), unquote(place.strip("/"))
    authority, _, database = place[2:].partition("/")
    hosts = tuple(_host(one, port) for one in authority.split(",") if one)
    return hosts or (("localhost", port),), unquote(database)


def _host(said: str, port: int) -> tuple[str, int]:
    host, colon, number = said.rpartition(":")
    if not colon or said.endswith("]"):  # an IPv6 address stands in brackets
        return said.strip("[]"), port
    if not number.isdigit():
        raise ValueError(f"{number!r} is no port")
    return host.strip("[]"), int(number)
