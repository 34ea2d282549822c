"""Inputs to start from: one sound message of each kind, so that mutations get past the door."""

from collections.abc import Iterator
from struct import pack

from fuzz.security_seeds import security_seeds
from fuzz.targets import CONFIGS, NOW_MS, SERVED
from ottla.broker.api import load
from ottla.wire.codec import encode
from ottla.wire.compression import Codec
from ottla.wire.record_batch import NewRecord, build_batch

RECORDS = [NewRecord(NOW_MS, b"key", b"value" * 20, (("name", b"content"),))] * 3


def seeds(target: str) -> list[bytes]:
    kinds = {"frame": frames, "body": bodies, "batch": batches}
    return list(kinds[target]()) if target in kinds else security_seeds(target)


def frames() -> Iterator[bytes]:
    for api, version in SERVED:
        request = load(api).request
        tags = b"\0" if version >= request.FLEXIBLE_SINCE else b""
        yield pack(">hhih", api.key, version, 7, -1) + tags + encode(request(), version)


def bodies() -> Iterator[bytes]:
    for number, (api, version) in enumerate(SERVED):
        yield number.to_bytes(2, "big") + encode(load(api).request(), version)


def batches() -> Iterator[bytes]:
    for number in range(len(CONFIGS)):
        for codec in Codec:
            yield bytes([number]) + build_batch(RECORDS, codec=codec)
