"""Whether a directory lies on a disk that the system encrypts (dm-crypt: LUKS and its kin).

Linux tells: the mount of a path, the device of the mount, and the devices under that one, since a
volume may lie on an encrypted disk and a file system on the volume.
"""

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")
_OCTAL = re.compile(r"\\([0-7]{3})")


def is_encrypted(path: Path, mounts: Path = MOUNTS, devices: Path = DEVICES) -> bool | None:
    """None where nobody can tell: no disk (tmpfs, a network), or no Linux."""
    number = _device_of(_existing(path), mounts)
    device = devices / number if number is not None else None
    if device is None or not device.exists():
        return None
    return _is_crypt(device.resolve())


def _existing(path: Path) -> Path:
    """It, or the nearest above it that is there: a directory is made on the disk of its parent."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path.resolve()


def _device_of(path: Path, mounts: Path) -> str | None:
    """`major:minor` of the disk; where a file system counts as its own device (btrfs), that of the
    device it was mounted from."""
    found: tuple[Path, str, str] | None = None
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()[1]
        point = Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4]))
        if path.is_relative_to(point) and (
            found is None or len(point.parts) >= len(found[0].parts)
        ):
            found = point, fields[2], source
    if found is None:
        return None
    _, number, source = found
    if number.startswith("0:"):
        try:
            device = os.stat(source).st_rdev
        except OSError:
            return None
        number = f"{os.major(device)}:{os.minor(device)}" if device else ""
    return number or None


def _is_crypt(device: Path) -> bool:
    """Or every device under it is: half of an encrypted volume is none."""
    try:
        if (device / "dm" / "uuid").read_text().startswith("CRYPT-"):
            return True
    except OSError:
        pass
    under = list((device / "slaves").iterdir()) if (device / "slaves").is_dir() else []
    if not under and (device / "partition").exists():
        return False
    return bool(under) and all(_is_crypt(one.resolve()) for one in under)
