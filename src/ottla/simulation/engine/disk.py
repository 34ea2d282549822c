"""A disk that forgets: what was not synced may be lost, cut or full of holes after a crash."""

from pathlib import Path
from random import Random

SECTOR = 512


class HostileFile:
    """What is durable, and the changes since, in order."""

    def __init__(self) -> None:
        self.content = bytearray()
        self._durable = b""
        self._changes: list[tuple[int, bytes | None]] = []  # length before, data (None: a cut)
        self._forgotten = 0  # changes that became durable, so that a mark keeps its meaning

    @property
    def size(self) -> int:
        return len(self.content)

    def append(self, data: bytes) -> None:
        self._changes.append((len(self.content), data))
        self.content += data

    def read(self, position: int, size: int) -> bytes:
        return bytes(self.content[position : position + size])

    def truncate(self, size: int) -> None:
        del self.content[size:]
        self._changes.append((size, None))

    def sync(self) -> None:
        self.sync_to(self.mark())

    def close(self) -> None:
        pass

    def mark(self) -> int:
        """Where a sync that begins now will reach."""
        return self._forgotten + len(self._changes)

    def sync_to(self, mark: int) -> None:
        count = max(mark - self._forgotten, 0)
        if count:
            self._durable = _applied(self._durable, self._changes[:count])
            del self._changes[:count]
            self._forgotten += count

    def crash(self, rng: Random) -> None:
        """Keep what is durable, some of the changes since, and the last of those in part."""
        kept = rng.randint(0, len(self._changes))
        content = bytearray(_applied(self._durable, self._changes[:kept]))
        if kept < len(self._changes):
            _, data = self._changes[kept]
            if data is not None:
                content += _torn(data, rng)
        self.content = content
        self._durable = bytes(content)
        self._changes = []
        self._forgotten = 0


def _applied(content: bytes, changes: list[tuple[int, bytes | None]]) -> bytes:
    out = bytearray(content)
    for length, data in changes:
        del out[length:]
        out += data or b""
    return bytes(out)


def _torn(data: bytes, rng: Random) -> bytes:
    whole = rng.random() < 0.5  # the length may be there before the content is
    part = bytearray(data if whole else data[: rng.randint(0, len(data))])
    for start in range(0, len(part), SECTOR):
        if rng.random() < 0.3:
            hole = len(part[start : start + SECTOR])
            part[start : start + hole] = bytes(hole)
    return bytes(part)


class HostileDisk:
    """Names of files are durable only once their directory is synced."""

    def __init__(self) -> None:
        self.files: dict[Path, HostileFile] = {}
        self._durable_names: dict[Path, HostileFile] = {}

    def open(self, path: Path) -> HostileFile:
        return self.files.setdefault(path, HostileFile())

    def read(self, path: Path) -> bytes | None:
        file = self.files.get(path)
        return None if file is None else bytes(file.content)

    def replace(self, path: Path, data: bytes) -> None:
        file = HostileFile()
        file.append(data)
        file.sync()
        self.files[path] = file
        self.sync_directory(path.parent)

    def rewrite(self, path: Path, data: bytes) -> None:
        self.replace(path, data)

    def remove(self, path: Path) -> None:
        self.files.pop(path, None)

    def names(self, directory: Path) -> list[str]:
        return sorted(path.name for path in self.files if path.parent == directory)

    def make_directory(self, path: Path) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        gone = [name for name in self._durable_names if name.parent == path]
        for name in gone:
            del self._durable_names[name]
        for name, file in self.files.items():
            if name.parent == path:
                self._durable_names[name] = file

    def crash(self, rng: Random) -> None:
        """The power goes: each change of a name since the last sync happened or did not."""
        after = dict(self._durable_names)
        for path in sorted({*self.files, *after}):
            if rng.random() < 0.5:
                continue
            if path in self.files:
                after[path] = self.files[path]
            else:
                after.pop(path, None)
        self.files = after
        self._durable_names = dict(after)
        for file in self.files.values():
            file.crash(rng)
