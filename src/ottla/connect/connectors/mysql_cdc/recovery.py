"""The definitions at an offset, out of the schema history. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from ottla.connect.connector import Place
from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.gtids import MariaDbGtids, MySqlGtids, gtids
from ottla.connect.connectors.mysql_cdc.schema_changes import apply_document


def recovered(
    documents: Iterable[Mapping[str, Any]], partition: Place, offset: Place
) -> Schema | None:
    """None: the history has nothing of this server up to there."""
    schema, found = Schema(), False
    for one in documents:
        mine = one.get("source") == partition and one.get("position") is not None
        if mine and at_or_before(one["position"], offset):
            apply_document(schema, one)
            found = True
    return schema if found else None


def at_or_before(recorded: Place, stored: Place) -> bool:
    """Whether a definition was made before an offset was reached, as Debezium decides it."""
    then, now = recorded.get("gtids"), stored.get("gtids")
    if now:
        return not then or _gtids_at_or_before(then, now, recorded, stored)
    if then:
        return False
    if _number(recorded, "server_id") != _number(stored, "server_id"):
        return _number(recorded, "ts_sec") <= _number(stored, "ts_sec")
    return _order(recorded) <= _order(stored)


def _gtids_at_or_before(then: str, now: str, recorded: Place, stored: Place) -> bool:
    old, new = gtids(then), gtids(now)
    if old == new:
        if "snapshot" not in recorded and "snapshot" in stored:
            return False
        return _number(recorded, "event") <= _number(stored, "event")
    if isinstance(old, MariaDbGtids) and isinstance(new, MariaDbGtids):
        return old.within(new)
    if isinstance(old, MySqlGtids) and isinstance(new, MySqlGtids):
        return old.within(new)
    return False


def _order(place: Place) -> tuple[int, int, int, int]:
    file = str(place.get("file") or "")
    number = file.rpartition(".")[2]
    return (
        int(number) if number.isdigit() else 0,
        _number(place, "pos"),
        _number(place, "event"),
        _number(place, "row"),
    )


def _number(place: Place, name: str) -> int:
    return int(place.get(name) or 0)
