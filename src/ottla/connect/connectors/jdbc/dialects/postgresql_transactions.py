"""Who may still commit rows in PostgreSQL that belong before those seen already.

A number of a sequence is taken before the row is visible, and `now()` is when the transaction
began: both are out of order until the transaction ends. Whoever takes a number holds a lock until
then, on the table (INSERT) or on the sequence (`nextval`), and whoever has written anything holds
one on its own id; so `writers` finds them among the locks. A time that is still to be written may
belong to anybody who has begun, so `oldest` asks for all. Not found: numbers that a session keeps
for later (a sequence with CACHE), times that come from another clock (`timestamp.delay.interval.ms`
is for those).
"""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ottla.connect.connectors.jdbc.dialects.dialect import Connection, TableId, fetched

if TYPE_CHECKING:
    from ottla.connect.connectors.jdbc.dialects.dialect import Dialect

# The table, what it is part of or is made of, and the sequences of their columns.
_RELATIONS = """
WITH RECURSIVE own(oid) AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = \0 AND c.relname = \0),
below(oid) AS (SELECT oid FROM own UNION SELECT i.inhrelid FROM pg_inherits i JOIN below b
  ON i.inhparent = b.oid),
above(oid) AS (SELECT oid FROM own UNION SELECT i.inhparent FROM pg_inherits i JOIN above a
  ON i.inhrelid = a.oid),
family(oid) AS (SELECT oid FROM below UNION SELECT oid FROM above)
SELECT oid FROM family
UNION SELECT d.objid FROM pg_depend d JOIN family f ON d.refobjid = f.oid
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
UNION SELECT d.refobjid FROM pg_depend d JOIN pg_attrdef a ON a.oid = d.objid
  JOIN family f ON a.adrelid = f.oid
  WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass"""
_OF_THIS_DATABASE = """
(l.pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())
 OR l.pid IS NULL
  AND EXISTS (SELECT FROM pg_prepared_xacts p WHERE p.database = current_database()))
AND l.pid IS DISTINCT FROM pg_backend_pid() AND l.granted"""
_WRITES = "('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
_WRITERS = f"""
SELECT DISTINCT l.virtualtransaction FROM pg_locks l WHERE {_OF_THIS_DATABASE}
AND (l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
  OR l.locktype = 'relation' AND l.mode IN {_WRITES} AND l.relation IN ({_RELATIONS}))"""
# Of a query it is not known what it reads: everybody who has begun is waited for.
_ANYBODY = f"""
SELECT DISTINCT l.virtualtransaction FROM pg_locks l WHERE {_OF_THIS_DATABASE}
AND (l.pid IS NULL OR l.pid IN (SELECT pid FROM pg_stat_activity WHERE xact_start IS NOT NULL
  AND backend_type = 'client backend' AND application_name <> 'ottla-connect-jdbc-source'))"""
_OPEN = "SELECT count(*) FROM pg_locks WHERE virtualtransaction = ANY(\0)"
# A statement is shown a moment before its transaction is. When a prepared transaction began is not
# known: nothing recent is read while there is one.
_OLDEST = """
SELECT least(
  (SELECT min(coalesce(xact_start, query_start)) FROM pg_stat_activity
   WHERE datname = current_database() AND (xact_start IS NOT NULL OR state = 'active')
   AND backend_type = 'client backend' AND pid <> pg_backend_pid()
   AND application_name <> 'ottla-connect-jdbc-source'),
  (SELECT 'epoch'::timestamptz FROM pg_prepared_xacts WHERE database = current_database() LIMIT 1),
  clock_timestamp() - interval '100 ms')"""


class PostgreSqlTransactions:
    def __init__(self, dialect: "Dialect") -> None:
        self._dialect = dialect

    def writers(self, connection: Connection, table: TableId | None) -> frozenset[str]:
        if table is None:
            rows = fetched(self._dialect, connection, _ANYBODY)
        else:
            rows = fetched(self._dialect, connection, _WRITERS, (table.schema, table.name))
        return frozenset(row[0] for row in rows)

    def still_open(self, connection: Connection, transactions: Collection[str]) -> bool:
        rows = fetched(self._dialect, connection, _OPEN, (list(transactions),))
        return bool(rows[0][0])

    def oldest(self, connection: Connection) -> datetime:
        at: datetime = fetched(self._dialect, connection, _OLDEST)[0][0]
        return at.astimezone(UTC)
