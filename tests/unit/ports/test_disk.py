"""Files of the quorum on a disk that others have filled to its last block."""

from pathlib import Path

import pytest

from ottla.ports.disk import LocalDisk
from support.disks import full, small_disk

DISK_BYTES = 4 * 1024 * 1024


@pytest.mark.parametrize("size", [10, 10_000])
def test_what_was_rewritten_once_can_be_rewritten_on_a_full_disk(tmp_path: Path, size: int) -> None:
    disk, path = LocalDisk(), tmp_path / "disk" / "vote"
    with small_disk(path.parent, DISK_BYTES) as is_small:
        if not is_small:
            pytest.skip("mounting a tmpfs is not allowed here")
        disk.rewrite(path, b"first")
        with full(path.parent):
            for number in range(20):
                disk.rewrite(path, b"%d" % number * size)
                assert disk.read(path) == b"%d" % number * size


def test_a_shorter_content_leaves_nothing_of_what_a_crash_left(tmp_path: Path) -> None:
    path = tmp_path / "vote"
    (tmp_path / "vote.tmp").write_bytes(b"what was not finished")
    LocalDisk().rewrite(path, b"a vote")
    assert path.read_bytes() == b"a vote"


def test_a_growing_file_has_room_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", DISK_BYTES) as is_small:
        if not is_small:
            pytest.skip("mounting a tmpfs is not allowed here")
        file = LocalDisk().open(tmp_path / "disk" / "log")
        file.append(b"first")
        with full(tmp_path / "disk"):
            for _ in range(100):
                file.append(bytes(1000))
        assert file.size == 100_005
        file.close()
