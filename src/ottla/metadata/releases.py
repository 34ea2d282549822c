"""Which feature levels a release of Apache Kafka begins with, for clusters made as that release's.

`metadata.version` stands for the release; each other feature has, at a release, the highest level
that was made for it or before.
"""

from collections.abc import Mapping

from ottla.errors import OttlaError
from ottla.metadata.features import (
    BOOTSTRAP_LEVELS,
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SUPPORTED,
)

_LEVELS = {
    "3.3": (7, 3),
    "3.4": (8, 0),
    "3.5": (9, 0),
    "3.6": (12, 0),
    "3.7": (15, 0),
    "3.8": (20, 0),
    "3.9": (21, 0),
    "4.0": (22, 0),
    "4.1": (26, 0),
    "4.2": (28, 0),
    "4.3": (30, 0),
}
"""Release → its first `metadata.version` and how that is numbered: 3.3-IV3 is 7, 3.5-IV1 is 10."""

_MADE_FOR: Mapping[str, tuple[tuple[int, int], ...]] = {
    ELR_VERSION: ((26, 1),),
    "group.version": ((22, 1),),
    "share.version": ((28, 1),),
    "streams.version": ((29, 1),),
    "transaction.version": ((24, 2),),
}
"""From which `metadata.version` on a feature begins with which level."""

_ELR_NEEDS = 23


def metadata_version(release: str) -> int:
    """`4.0` and `4.0.1` are the last of that release, `4.0-IV1` is just that one."""
    number, _, step = release.partition("-")
    short = ".".join(number.split(".")[:2])
    if short in _LEVELS:
        first, first_step = _LEVELS[short]
        last = min((at for at, _ in _LEVELS.values() if at > first), default=31) - 1
        if not step:
            return last
        if step[:2] == "IV" and step[2:].isdigit():
            level = first + int(step[2:]) - first_step
            if first <= level <= last:
                return level
    raise OttlaError(f"--release-version {release}: releases from 3.3 to 4.3 are known.")


def release_name(level: int) -> str:
    for short, (first, step) in reversed(_LEVELS.items()):
        if level >= first:
            return f"{short}-IV{level - first + step}"
    raise OttlaError(f"metadata.version {level} is not known.")


def levels_of_release(level: int) -> dict[str, int]:
    """All features but the quorum's own, as a new cluster of that `metadata.version` has them."""
    levels = {METADATA_VERSION: level}
    for name in sorted(BOOTSTRAP_LEVELS.keys() - {METADATA_VERSION}):
        since = [each for at, each in _MADE_FOR[name] if at <= level]
        levels[name] = since[-1] if since else 0
    return levels


def chosen_levels(release: str | None, given: Mapping[str, int]) -> dict[str, int]:
    """What `--release-version` and `--feature` come to; the quorum's own level is not among it."""
    if METADATA_VERSION in given and release is not None:
        raise OttlaError(f"Give --release-version or --feature {METADATA_VERSION}, not both.")
    for name, level in given.items():
        low, high = SUPPORTED.get(name, (0, -1))
        if not low <= level <= high:
            known = ", ".join(f"{one} {low}-{high}" for one, (low, high) in SUPPORTED.items())
            raise OttlaError(f"--feature {name}={level}: there are {known}.")
    metadata = given.get(METADATA_VERSION, BOOTSTRAP_LEVELS[METADATA_VERSION])
    levels = levels_of_release(metadata if release is None else metadata_version(release))
    levels.update((name, level) for name, level in given.items() if name != KRAFT_VERSION)
    if levels[ELR_VERSION] and levels[METADATA_VERSION] < _ELR_NEEDS:
        raise OttlaError(f"{ELR_VERSION} 1 needs {METADATA_VERSION} {_ELR_NEEDS} or later.")
    return {name: level for name, level in levels.items() if level > 0}
