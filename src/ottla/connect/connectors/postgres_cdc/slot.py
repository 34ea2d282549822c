"""The replication slot and the publication: found, made, dropped, or refused in a sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import connection as Connection
from psycopg2.extras import LogicalReplicationConnection

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.postgres_cdc.catalog import TableName
from ottla.connect.connectors.postgres_cdc.connections import failed
from ottla.connect.connectors.postgres_cdc.settings import Settings


class SlotState(NamedTuple):
    confirmed: int
    active: bool


class ExportedSnapshot(NamedTuple):
    """A view of the database at an LSN; valid while the connection that made it is left alone."""

    lsn: int
    name: str


def lsn_number(text: str) -> int:
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)


def lsn_text(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def check_wal_level(connection: Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW wal_level")
        (level,) = cursor.fetchone() or ("unknown",)
    if level != "logical":
        raise ConnectError(
            f"PostgreSQL runs with wal_level={level}, which holds no changes to capture: "
            "set wal_level=logical and restart the server."
        )


def slot_state(connection: Connection, settings: Settings) -> SlotState | None:
    """None: there is none. A slot of another plugin or database is refused."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT plugin, database, confirmed_flush_lsn::text, active, wal_status"
            " FROM pg_catalog.pg_replication_slots WHERE slot_name = %s",
            (settings.slot,),
        )
        row = cursor.fetchone()
    if row is None:
        return None
    plugin, database, confirmed, active, status = row
    if plugin != "pgoutput" or database != settings.database["dbname"]:
        raise ConnectError(
            f"The replication slot {settings.slot} belongs to the plugin {plugin} on the database"
            f" {database}: name another in slot.name."
        )
    if status == "lost":
        raise ConnectError(
            f"The replication slot {settings.slot} has lost changes that the server no longer"
            " keeps (max_slot_wal_keep_size): drop it, and delete the connector's offsets or set"
            " snapshot.mode=when_needed."
        )
    return SlotState(lsn_number(confirmed) if confirmed else 0, active)


def create_slot(
    replication: LogicalReplicationConnection, name: str, *, temporary: bool = False
) -> ExportedSnapshot:
    """The snapshot shows the database exactly as it is where the slot begins."""
    kind = sql.SQL("TEMPORARY LOGICAL pgoutput" if temporary else "LOGICAL pgoutput")
    statement = sql.SQL("CREATE_REPLICATION_SLOT {} {} EXPORT_SNAPSHOT").format(
        sql.Identifier(name), kind
    )
    with replication.cursor() as cursor:
        try:
            cursor.execute(statement)
        except psycopg2.Error as error:
            raise failed(f"The replication slot {name} cannot be made", error) from None
        _name, point, snapshot, _plugin = cursor.fetchone()
    return ExportedSnapshot(lsn_number(point), snapshot)


def drop_slot(connection: Connection, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_catalog.pg_drop_replication_slot(slot_name)"
            " FROM pg_catalog.pg_replication_slots WHERE slot_name = %s AND NOT active",
            (name,),
        )


def ensure_publication(
    connection: Connection, settings: Settings, tables: Sequence[TableName]
) -> None:
    """As publication.autocreate.mode says."""
    name = sql.Identifier(settings.publication)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = %s", (settings.publication,)
        )
        exists = cursor.fetchone() is not None
        statement = _publication_statement(settings, name, tables, exists)
        if statement is None:
            return
        try:
            cursor.execute(statement)
        except psycopg2.Error as error:
            raise failed(f"The publication {settings.publication} cannot be made", error) from None


def _publication_statement(
    settings: Settings, name: sql.Identifier, tables: Sequence[TableName], exists: bool
) -> sql.Composed | None:
    listed = sql.SQL(", ").join(sql.Identifier(one.schema, one.name) for one in tables)
    match settings.autocreate:
        case "disabled" if not exists:
            raise ConnectError(
                f"There is no publication {settings.publication}, and"
                " publication.autocreate.mode=disabled says that none is made: create it."
            )
        case "all_tables" if not exists:
            return sql.SQL("CREATE PUBLICATION {} FOR ALL TABLES").format(name)
        case "no_tables" if not exists:
            return sql.SQL("CREATE PUBLICATION {}").format(name)
        case "filtered":
            if not tables:
                raise ConnectError(
                    "No table matches the include and exclude lists, so there is nothing to"
                    f" publish as {settings.publication}."
                )
            form = "ALTER PUBLICATION {} SET TABLE {}" if exists else None
            return sql.SQL(form or "CREATE PUBLICATION {} FOR TABLE {}").format(name, listed)
    return None
