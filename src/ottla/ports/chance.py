"""What nobody can foresee: dice and ids, from one source that `Node` hands down."""

from random import Random, SystemRandom
from uuid import UUID

from ottla.ids import Uuid, show_uuid

Chance = Random
"""The system's on a real node, where ids must never meet; in a simulation that of a seed."""

SYSTEM_CHANCE: Chance = SystemRandom()


def new_uuid(chance: Chance) -> Uuid:
    """A random id; never one that Kafka keeps for itself, nor one that looks like an option."""
    while True:
        uuid = bytearray(chance.randbytes(16))
        uuid[6] = (uuid[6] & 0x0F) | 0x40
        uuid[8] = (uuid[8] & 0x3F) | 0x80
        if not show_uuid(bytes(uuid)).startswith("-"):
            return bytes(uuid)


def uuid4(chance: Chance) -> UUID:
    """For names that are shown in hexadecimal: of directories set aside."""
    return UUID(bytes=chance.randbytes(16), version=4)
