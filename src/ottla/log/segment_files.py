"""Which files lie in a partition's directory, once what an interrupted cleaning or deletion left is
finished or undone."""

import os
from pathlib import Path
from typing import NamedTuple

from ottla.log.files import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    FileHandle,
    file_name,
)
from ottla.log.scanning import scan
from ottla.ports.disk import UNFINISHED


class SegmentFiles(NamedTuple):
    bases: list[int]  # of segments, rising
    snapshots: list[int]  # of producers: their offsets, rising


def list_or_make(path: Path) -> list[str]:
    """Empty for a directory that had to be made."""
    try:
        return os.listdir(path)
    except FileNotFoundError:
        os.mkdir(path)
        return []


def tidy(path: Path, names: list[str]) -> SegmentFiles:
    """Finish or undo what was under way; then what there is."""
    for name in names:
        if name.endswith(UNFINISHED):
            os.unlink(path / name)
    if any(name.endswith((CLEANED, SWAP, DELETED)) for name in names):
        _finish_swaps(path, names)
        names = os.listdir(path)
    bases, snapshots = [], []
    for name in names:
        stem = name[:20]
        if not stem.isdigit():
            continue
        if name[20:] == LOG:
            bases.append(int(stem))
        elif name[20:] == SNAPSHOT:
            snapshots.append(int(stem))
    known = set(bases)
    for name in names:
        if name[20:] in SEGMENT_SUFFIXES and name[:20].isdigit() and int(name[:20]) not in known:
            os.unlink(path / name)  # an index without its log
    return SegmentFiles(sorted(bases), sorted(snapshots))


def _finish_swaps(path: Path, names: list[str]) -> None:
    """A `.cleaned` was not complete: undo. A `.swap` was: it replaces the segments it covers."""
    for name in names:
        if name.endswith((CLEANED, DELETED)):
            (path / name).unlink(missing_ok=True)
    unfinished = [int(name[:20]) for name in names if name.endswith(CLEANED)]
    swaps = [int(name[:20]) for name in names if name[20:] == LOG + SWAP]
    bases = [int(name[:20]) for name in names if name[20:] == LOG]
    for base in sorted(swaps):
        if unfinished and base >= min(unfinished):
            continue  # one segment was being split into several, and not all parts are there
        swap = path / file_name(base, LOG + SWAP)
        end = _end_of(swap, base)
        for covered in bases:
            if base <= covered < end:
                for suffix in SEGMENT_SUFFIXES:
                    (path / file_name(covered, suffix)).unlink(missing_ok=True)
        for suffix in SEGMENT_SUFFIXES:
            source = path / file_name(base, suffix + SWAP)
            if source.exists():
                os.replace(source, path / file_name(base, suffix))
    for name in os.listdir(path):
        if name.endswith(SWAP):
            (path / name).unlink()


def _end_of(file: Path, base: int) -> int:
    handle = FileHandle(str(file))
    end = base + 1
    for _, header in scan(handle, 0, os.fstat(handle.fd).st_size):
        end = header.next_offset
    return end
