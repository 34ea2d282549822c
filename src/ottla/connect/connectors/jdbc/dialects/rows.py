"""Statements that write many rows where the database takes them one parameter each."""

from collections.abc import Sequence

from ottla.connect.connectors.jdbc.dialects.dialect import Column, Dialect, TableId


def table_name(dialect: Dialect, table: TableId) -> str:
    return ".".join(dialect.quote(part) for part in table if part)


def insert(dialect: Dialect, table: TableId, columns: Sequence[Column], mark: str) -> str:
    names = ", ".join(dialect.quote(one.name) for one in columns)
    marks = ", ".join(mark for _ in columns)
    return f"INSERT INTO {table_name(dialect, table)} ({names}) VALUES ({marks})"


def update(
    dialect: Dialect, table: TableId, columns: Sequence[Column], keys: int, mark: str
) -> str:
    """Its parameters: the key's columns last."""
    change = ", ".join(f"{dialect.quote(one.name)} = {mark}" for one in columns[keys:])
    same = same_key(dialect, columns[:keys], mark)
    return f"UPDATE {table_name(dialect, table)} SET {change} WHERE {same}"


def same_key(dialect: Dialect, keys: Sequence[Column], mark: str) -> str:
    return " AND ".join(f"{dialect.quote(one.name)} = {mark}" for one in keys)
