"""`ottla log dump` over files made here and files as Kafka lays them out."""

import json
from pathlib import Path
from struct import pack

import pytest
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.cli.log import read_entries
from ottla.errors import OttlaError
from ottla.metadata.records import frame
from ottla.wire.codec import encode
from ottla.wire.compression import Codec
from ottla.wire.record_batch import NewRecord, build_batch
from ottla.wire.records.metadata import TopicRecord
from ottla.wire.records.offsets import OffsetCommitKey, OffsetCommitValue

NOW = 1_763_200_000_000


def segment(directory: Path, topic: str, *batches: bytes) -> Path:
    folder = directory / f"{topic}-0"
    folder.mkdir(parents=True)
    path = folder / f"{0:020}.log"
    path.write_bytes(b"".join(batches))
    return path


def hello(base_offset: int = 0) -> bytes:
    records = [
        NewRecord(NOW, b"k", b"hello", (("h", b"1"), ("h", b"2"))),
        NewRecord(NOW, None, b"\xff"),
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=3, codec=Codec.LZ4)


def test_a_segment_is_a_line_a_batch(tmp_path: Path) -> None:
    first, second = read_entries(segment(tmp_path, "t", hello(), hello(2)))
    assert (first["offset"], first["last"], first["codec"], first["epoch"]) == (0, 1, "lz4", 3)
    assert second["position"] == first["bytes"]
    assert "content" not in first


def test_records_are_shown_when_asked_for(tmp_path: Path) -> None:
    (batch,) = read_entries(segment(tmp_path, "t", hello()), records=True)
    text, raw = batch["content"]
    assert (text["key"], text["value"], text["headers"]) == ("k", "hello", [["h", "1"], ["h", "2"]])
    assert (raw["key"], raw["value"]) == (None, "0xff")


def test_a_torn_tail_is_named_and_is_code_1(tmp_path: Path) -> None:
    path = segment(tmp_path, "t", hello(), hello(2)[:-5])
    done = CliRunner().invoke(app, ["log", "dump", str(path), "--json"])
    assert done.exit_code == 1
    assert "cut short" in json.loads(done.stdout.splitlines()[-1])["damage"]


def test_a_flipped_bit_is_told_by_the_checksum(tmp_path: Path) -> None:
    batch = bytearray(hello())
    batch[-1] ^= 1
    (entry,) = read_entries(segment(tmp_path, "t", bytes(batch)))
    assert entry["damage"] == "the checksum is wrong"


def test_metadata_records_are_decoded(tmp_path: Path) -> None:
    record = NewRecord(NOW, None, frame(TopicRecord(name="orders", topic_id=b"\x01" * 16)))
    path = segment(tmp_path, "__cluster_metadata", build_batch([record]))
    (batch,) = read_entries(path, records=True)
    assert batch["content"][0]["type"] == "Topic"
    assert batch["content"][0]["fields"]["name"] == "orders"
    assert batch["content"][0]["fields"]["topic_id"] == "AQEBAQEBAQEBAQEBAQEBAQ"


def test_committed_offsets_are_decoded(tmp_path: Path) -> None:
    key = pack(">h", 1) + encode(OffsetCommitKey(group="g", topic="t", partition=2), 0)
    value = pack(">h", 4) + encode(OffsetCommitValue(offset=42), 4)
    batch = build_batch([NewRecord(NOW, key, value), NewRecord(NOW, key, None)])
    (entry,) = read_entries(segment(tmp_path, "__consumer_offsets", batch), records=True)
    commit, tombstone = entry["content"]
    assert commit["type"] == "OffsetCommit"
    assert commit["fields"]["offset"] == 42
    assert commit["offset"] == 0
    assert tombstone["fields"]["deleted"] is True


def test_indexes_end_at_the_zeros_reserved_in_advance(tmp_path: Path) -> None:
    index = tmp_path / f"{100:020}.index"
    index.write_bytes(pack(">iiii", 5, 4096, 9, 8192) + bytes(64))
    assert list(read_entries(index)) == [
        {"offset": 105, "position": 4096},
        {"offset": 109, "position": 8192},
    ]


def test_checkpoints_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text("0\n1\norders 3 17\n")
    assert list(read_entries(path)) == [{"topic": "orders", "partition": 3, "offset": 17}]
    for cut in ("", "0", "0\n2\norders 3 17\n", "0\n1\norders 3\n", "0\n1\norders\n"):
        path.write_text(cut)
        assert "damage" in next(read_entries(path))


def test_any_other_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(OttlaError, match="none of the files"):
        read_entries(tmp_path / "notes.txt")
    with pytest.raises(OttlaError, match="not a file"):
        read_entries(tmp_path)
