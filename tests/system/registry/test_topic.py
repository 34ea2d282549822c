"""The topic is the registry: what stands in it is read by others' rules, and others' records here;
compaction in between takes away nothing that counts.

The other reader follows Karapace's rules, as its source has them: types of keys it knows, an empty
value is a tombstone, and what it does not know it passes over.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import ottla
from system.registry.processes import Registry
from system.registry.test_group import enum, records, registered

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
    "max.compaction.lag.ms": "200",
}
UNKNOWN = '{"keytype":"ASSOC","tenant":"default","magic":0}'
JSON_SCHEMA = '{"type":"object","additionalProperties":false}'
PROTO = 'syntax = "proto3"; message M { string a = 1; }'


class OtherReader:
    """Subjects, versions and levels, by another's rules."""

    def __init__(self) -> None:
        self.versions: dict[str, dict[int, dict[str, Any]]] = {}
        self.levels: dict[str | None, str] = {}
        self.strange: list[str] = []

    def read(self, key_text: str, value: bytes | None) -> None:
        key, held = json.loads(key_text), json.loads(value) if value else None
        match key["keytype"]:
            case "SCHEMA" if held:
                assert list(key) == ["keytype", "subject", "version", "magic"]
                self.versions.setdefault(held["subject"], {})[held["version"]] = held
            case "SCHEMA":
                of = self.versions.get(key["subject"], {})
                of.pop(key["version"], None)
            case "CONFIG" if held:
                self.levels[key.get("subject")] = held["compatibilityLevel"]
            case "CONFIG":
                self.levels.pop(key.get("subject"), None)
            case "DELETE_SUBJECT" if held:
                for version, one in self.versions.get(held["subject"], {}).items():
                    if version <= held["version"]:
                        one["deleted"] = True
            case "NOOP" | "DELETE_SUBJECT":
                pass
            case _:
                self.strange.append(key["keytype"])

    def shown(self) -> dict[str, list[tuple[int, int, str, bool]]]:
        return {
            subject: [
                (version, one["id"], one.get("schemaType", "AVRO"), one.get("deleted", False))
                for version, one in sorted(of.items())
            ]
            for subject, of in self.versions.items()
            if of
        }


@pytest.fixture(scope="module")
def compacting() -> Iterator[str]:
    settings = {"log.cleaner.backoff.ms": 100, "log.cleaner.threads": 1}
    with ottla.Node(settings=settings) as node:
        yield node.bootstrap_servers


@pytest.fixture
def registry(compacting: str) -> Iterator[Registry]:
    made = Registry(compacting, name="topic")
    admin = AdminClient({"bootstrap.servers": compacting})
    topic = NewTopic(made.topic, 1, 1, config=COMPACTED)
    admin.create_topics([topic])[made.topic].result(10)
    with made:
        yield made


def write(registry: Registry, *pairs: tuple[str, str | None]) -> None:
    producer = Producer({"bootstrap.servers": registry.bootstrap})
    for key, value in pairs:
        producer.produce(registry.topic, key=key.encode(), value=value)
    assert producer.flush(10) == 0


def known(registry: Registry) -> dict[str, list[tuple[int, int, str, bool]]]:
    """The same as `OtherReader.shown`, from the registry itself."""
    found: dict[str, list[tuple[int, int, str, bool]]] = {}
    for one in registry.get("/schemas?deleted=true").body:
        row = (one["version"], one["id"], one["schemaType"], one["deleted"])
        found.setdefault(one["subject"], []).append(row)
    return found


def compact(registry: Registry, below: int) -> list[tuple[str, bytes | None]]:
    """What is left when the cleaner has been there: new segments make the old ones cleanable."""
    deadline = time.monotonic() + 40
    while True:
        write(registry, ('{"keytype":"NOOP","magic":0}', None))
        left = records(registry)
        if len(left) < below:
            return left
        assert time.monotonic() < deadline, f"{len(left)} records are left"
        time.sleep(0.2)


def by_other(left: list[tuple[str, bytes | None]]) -> OtherReader:
    reader = OtherReader()
    for key, value in left:
        reader.read(key, value)
    return reader


def test_another_registry_reads_the_same_before_and_after_compaction(registry: Registry) -> None:
    for number in range(3):
        registered(registry, f"Many{number}")
    write(registry, (UNKNOWN, '{"a":1}'))
    registry.register("other", JSON_SCHEMA, schemaType="JSON")
    registry.register("proto", PROTO, schemaType="PROTOBUF")
    for level in ("FULL", "NONE", "FORWARD", "NONE"):
        registry.put("/config/other", {"compatibility": level})
    registry.register("other", '{"type":"string"}', schemaType="JSON")
    registry.delete("/subjects/other/versions/1")
    registry.delete("/subjects/proto")
    for path in ("/subjects/s-Many0", "/subjects/s-Many0?permanent=true"):
        assert registry.delete(path).status == 200
    before, state = records(registry), known(registry)
    first = by_other(before)
    assert first.shown() == state
    assert first.levels == {"other": "NONE"}
    assert first.strange == ["ASSOC"]
    left = compact(registry, below=len(before) - 3)
    again = by_other(left)
    assert (again.shown(), again.levels, again.strange) == (state, first.levels, ["ASSOC"])
    assert (UNKNOWN, b'{"a":1}') in left
    with registry.another() as late:
        assert known(late) == state
        assert late.get("/config/other").body == {"compatibilityLevel": "NONE"}
        more = registered(late, "More")
        assert more > max(id for of in state.values() for _, id, _, _ in of)


def value(subject: str, version: int, id: int, name: str, **more: Any) -> str:
    held = {"subject": subject, "version": version, "id": id, "schema": enum(name), **more}
    return json.dumps({**held, "deleted": False}, separators=(",", ":"))


def test_what_karapace_has_written_is_read_in_either_order_of_its_keys(registry: Registry) -> None:
    """Its tombstones have empty values, and its keys once began with the subject."""
    write(
        registry,
        ('{"keytype":"SCHEMA","subject":"k","version":1,"magic":1}', value("k", 1, 41, "A")),
        ('{"subject":"k","version":2,"magic":1,"keytype":"SCHEMA"}', value("k", 2, 42, "B")),
        ('{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}', value("gone", 1, 43, "C")),
        ('{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}', ""),
        ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"NONE"}'),
        ('{"subject":"k","magic":0,"keytype":"CONFIG"}', '{"compatibilityLevel":"FULL"}'),
        ('{"keytype":"NOOP","magic":0}', ""),
    )
    id = registered(registry, "After")
    assert id == 44, "after all that were given"
    assert known(registry)["k"] == [(1, 41, "AVRO", False), (2, 42, "AVRO", False)]
    assert "gone" not in known(registry)
    assert registry.get("/config").body == {"compatibilityLevel": "NONE"}
    assert registry.get("/config/k").body == {"compatibilityLevel": "FULL"}


def test_a_version_whose_key_had_another_order_stays_deleted_after_compaction(
    registry: Registry,
) -> None:
    write(
        registry,
        ('{"subject":"o","version":1,"magic":1,"keytype":"SCHEMA"}', value("o", 1, 7, "A")),
        ('{"subject":"o","magic":0,"keytype":"CONFIG"}', '{"compatibilityLevel":"FULL"}'),
    )
    registered(registry, "After")
    assert registry.put("/config/o", {"compatibility": "NONE"}).status == 200
    assert registry.delete("/config/o").status == 200
    for path in ("/subjects/o", "/subjects/o?permanent=true"):
        assert registry.delete(path).body == [1]
    for _ in range(20):  # so that there is something to take away
        registry.put("/config/x", {"compatibility": "FULL"})
    left = compact(registry, below=12)
    kept = [key for key, held in left if held and '"o"' in key]
    assert kept == ['{"keytype":"DELETE_SUBJECT","subject":"o","magic":0}']
    with registry.another() as late:
        assert "o" not in known(late)
        assert late.get("/config/o").code == 40408
