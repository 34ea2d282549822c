"""A change and a tombstone of one table, as every reader of changes writes them."""

from ottla.connect.data import Header, Record, Schema, Struct


class ChangeRecords:
    """What a table's records have in common; how its rows become structs, each reader knows."""

    __slots__ = ()

    topic: str
    key_schema: Schema | None
    value_schema: Schema
    headers: tuple[Header, ...]

    def record(
        self,
        op: str,
        key: Struct | None,
        before: Struct | None,
        after: Struct | None,
        source: Struct,
        *,
        now_ns: int,
        transaction: Struct | None = None,
        headers: tuple[Header, ...] = (),
    ) -> Record:
        values = {
            "before": before,
            "after": after,
            "source": source,
            "transaction": transaction,
            "op": op,
            "ts_ms": now_ns // 1_000_000,
            "ts_us": now_ns // 1000,
            "ts_ns": now_ns,
        }
        return Record(
            topic=self.topic,
            key_schema=self.key_schema if key is not None else None,
            key=key,
            value_schema=self.value_schema,
            value=Struct(self.value_schema, values),
            headers=headers + self.headers,
        )

    def tombstone(self, key: Struct | None, headers: tuple[Header, ...] = ()) -> Record:
        return Record(
            topic=self.topic,
            key_schema=self.key_schema if key is not None else None,
            key=key,
            headers=headers + self.headers,
        )
