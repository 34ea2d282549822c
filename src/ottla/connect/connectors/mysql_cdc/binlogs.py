"""What a server's binlogs are like, and whether they still reach back to a position."""

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc.connections import (
    Connection,
    execute,
    is_mariadb,
    variable,
)
from ottla.connect.connectors.mysql_cdc.gtids import MariaDbGtids, gtids
from ottla.connect.connectors.mysql_cdc.offsets import Position


def check_server(connection: Connection) -> None:
    """ConnectError if its binlog does not have rows in full."""
    if (variable(connection, "log_bin") or "OFF") == "OFF":
        raise ConnectError("The server writes no binlog: set log_bin.")
    wanted = {"binlog_format": "ROW", "binlog_row_image": "FULL"}
    for name, value in wanted.items():
        said = variable(connection, name)
        if said is not None and said.upper() != value:
            raise ConnectError(f"The server has {name}={said}, where {value} is needed.")


def lost(connection: Connection, position: Position) -> str | None:
    """Why the binlog cannot be read from there on; None: it can."""
    files = [str(row[0]) for row in execute(connection, "SHOW BINARY LOGS")]
    known = gtids(position.gtids) if position.gtids else None
    if known is None:
        if position.file in files:
            return None
        return f"The server no longer has the binlog {position.file}"
    if isinstance(known, MariaDbGtids):
        missing = _purged_of_mariadb(connection, files[0], known) if files else None
    elif is_mariadb(connection):
        missing = None
    else:
        missing = _purged_of_mysql(connection, known.text)
    if not missing:
        return None
    return f"The server has purged binlogs with changes since {position.gtids} (up to {missing})"


def _purged_of_mariadb(connection: Connection, oldest: str, known: MariaDbGtids) -> str | None:
    """What had been written before the oldest binlog that is there, where that is more."""
    name = oldest.replace("'", "")
    for row in execute(connection, f"SHOW BINLOG EVENTS IN '{name}' LIMIT 3"):
        if row[2] == "Gtid_list":
            text = str(row[5]).strip("[]")
            before = gtids(text)
            assert isinstance(before, MariaDbGtids)
            return None if before.within(known) else text
    return None


def _purged_of_mysql(connection: Connection, known: str) -> str | None:
    rows = execute(connection, "SELECT GTID_SUBTRACT(@@global.gtid_purged, %s)", (known,))
    return str(rows[0][0] or "") or None
