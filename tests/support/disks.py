"""Disks that are small, full, or give back other bits than were written."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

HEADER_BYTES = 61
BLOCK = bytes(64 * 1024)


@contextlib.contextmanager
def small_disk(path: Path, size: int) -> Iterator[bool]:
    """A file system of so many bytes at `path`; False where mounting is not allowed."""
    path.mkdir(parents=True, exist_ok=True)
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(path)], check=True)


@contextlib.contextmanager
def full(disk: Path) -> Iterator[None]:
    """Filled to its last block, whatever the node on it does meanwhile."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(BLOCK)
    try:
        yield
    finally:
        filler.unlink(missing_ok=True)


def flip_a_bit(path: Path, share: float) -> None:
    """Amidst the records of the batch that lies at this share of a segment."""
    data = path.read_bytes()
    position, size, target = 0, 0, int(len(data) * share)
    while position + HEADER_BYTES < len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        if position + size > target or size <= HEADER_BYTES:
            break
        position += size
    at = position + HEADER_BYTES + (size - HEADER_BYTES) // 2
    if size > HEADER_BYTES and at < len(data):
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([data[at] ^ 0x10]))
