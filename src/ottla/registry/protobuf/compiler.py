"""The real protoc on a schema, in a process of its own: hostile input reaches C++ there.

The process has little time and memory. What it says is what whoever registers a schema is told.
"""

import asyncio
import base64
import resource
import shutil
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ottla.registry import errors
from ottla.registry.protobuf.confluent_types import FILES
from ottla.registry.protobuf.parsing import NotProtobuf
from ottla.registry.protobuf.schema import read_file
from ottla.registry.protobuf.text import text_of

TIMEOUT_S = 6.0
CPU_S = 4
MEMORY_BYTES = 1024**3
_AT_ONCE = 2
_KEPT = 256
_NAME = "ottla_registered.proto"
_turns = asyncio.Semaphore(_AT_ONCE)
_compiled: OrderedDict[tuple[str, tuple[tuple[str, str], ...]], bytes] = OrderedDict()


async def check(text: str, references: Mapping[str, str]) -> None:
    """42201 with protoc's reason for what it refuses."""
    await descriptor(text, references)


async def serialized(text: str, references: Mapping[str, str]) -> str:
    """The descriptor, in base 64, as clients ask for it."""
    return base64.b64encode(await descriptor(text, references)).decode()


async def descriptor(text: str, references: Mapping[str, str]) -> bytes:
    key = (text, tuple(references.items()))
    known = _compiled.get(key)
    if known is None:
        async with _turns:
            known = await _compile(text, references)
        _compiled[key] = known
        if len(_compiled) > _KEPT:
            _compiled.popitem(last=False)
    return known


async def _compile(text: str, references: Mapping[str, str]) -> bytes:
    folder = Path(tempfile.mkdtemp(prefix="ottla-protoc-"))
    try:
        sources = {**FILES, **references, _NAME: text}
        await asyncio.to_thread(_write, folder, sources)
        await _run(folder)
        return _own((folder / "out").read_bytes())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, sources: Mapping[str, str]) -> None:
    for name, text in sources.items():
        place = (folder / name).resolve()
        if not place.is_relative_to(folder.resolve()) or "\0" in name:
            raise errors.invalid_schema(f"{name!r} is no name of a file")
        try:
            written = text_of(read_file(text))
        except (NotProtobuf, RecursionError) as error:
            raise errors.invalid_schema(
                f"Invalid schema of type PROTOBUF, details: {error}"
            ) from None
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(written)
        except (OSError, UnicodeError):
            raise errors.invalid_schema(f"{name!r} is no name of a file") from None


async def _run(folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        "grpc_tools.protoc",
        f"-I{folder}",
        *_includes(),
        "--include_imports",
        f"--descriptor_set_out={folder / 'out'}",
        _NAME,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=_limit,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, said = await process.communicate()
    except TimeoutError:
        raise errors.invalid_schema("The schema took protoc too long") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    if process.returncode != 0:
        reason = said.decode(errors="replace").replace(f"{_NAME}:", "").strip()
        raise errors.invalid_schema(
            f"Invalid schema of type PROTOBUF, details: {reason[:2000] or 'protoc ended'}"
        )


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _includes() -> list[str]:
    """Where `google/protobuf` is, and `google/type` if it is installed."""
    found = []
    tools = find_spec("grpc_tools")
    if tools is not None and tools.origin is not None:
        found.append(f"-I{Path(tools.origin).parent / '_proto'}")
    with suppress(ModuleNotFoundError):
        common = find_spec("google.type")
        for place in (common.submodule_search_locations or []) if common is not None else []:
            found.append(f"-I{Path(place).parent.parent}")
    return found


def _own(compiled: bytes) -> bytes:
    """Of all files that were compiled, the one that was asked for."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    for file in FileDescriptorSet.FromString(compiled).file:
        if file.name == _NAME:
            file.name = "default"
            return bytes(file.SerializeToString())
    raise errors.invalid_schema("protoc wrote nothing")
