"""Which directories lie on encrypted disks, as Linux tells it."""

from pathlib import Path

import pytest

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.node.security import check_options
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.encrypted_disks import is_encrypted

Devices = dict[str, list[str] | str]


def system(folder: Path, mounts: list[tuple[Path, str]], devices: Devices) -> None:
    """Devices are what dm-crypt says of them, or those that they lie on."""
    lines = [f"1 0 {number} / {point} rw - ext4 /dev/x rw" for point, number in mounts]
    (folder / "mounts").write_text("\n".join(lines))
    for number, about in devices.items():
        device = folder / "devices" / number
        (device / "slaves").mkdir(parents=True)
        if isinstance(about, str):
            (device / "dm").mkdir()
            (device / "dm" / "uuid").write_text(about)
        else:
            for under in about:
                (device / "slaves" / under.replace(":", "-")).symlink_to(folder / "devices" / under)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"8:1": []}, False),
        ({"8:1": "CRYPT-LUKS2-abc"}, True),
        ({"8:1": "LVM-abc"}, False),
        ({"8:1": ["253:0"], "253:0": "CRYPT-LUKS2-abc"}, True),
        ({"8:1": ["253:0", "8:2"], "253:0": "CRYPT-LUKS2-abc", "8:2": []}, False),
        ({}, None),
    ],
)
def test_a_disk_or_all_that_are_under_it(
    devices: Devices, expected: bool | None, tmp_path: Path
) -> None:
    system(tmp_path, [(Path("/"), "9:9"), (tmp_path, "8:1")], devices)
    found = is_encrypted(tmp_path / "not" / "yet", tmp_path / "mounts", tmp_path / "devices")
    assert found is expected


def test_a_node_that_asks_for_encrypted_disks_does_not_start_elsewhere(tmp_path: Path) -> None:
    asked = Settings(
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2",
            "log.dirs": "/proc/self",
            "ottla.require.encrypted.log.dirs": "true",
        }
    )
    with pytest.raises(OttlaError, match="/proc/self is not on a disk"):
        check_options(asked, SYSTEM_CHANCE)
