"""Apache Avro's Java, as PySpark brings it, says what a schema's text is and who reads whom."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ottla.registry.avro.compatibility import Ambiguous, differences
from ottla.registry.avro.parsing import NotAvro, parse
from ottla.registry.avro.text import canonical_text
from ottla.registry.avro.tree import Type
from system.registry.drawn_avro import Draw

pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
]
JARS = ("avro-1*", "jackson-core-2*", "jackson-databind-*", "jackson-annotations-*", "slf4j-api-*")


def ask_java(pairs: list[tuple[Any, Any]]) -> list[Any]:
    folder = Path(pyspark.__file__).parent / "jars"
    path = os.pathsep.join(str(jar) for name in JARS for jar in folder.glob(f"{name}.jar"))
    lines = "".join(f"{json.dumps(one)}\t{json.dumps(two)}\n" for one, two in pairs)
    program = Path(__file__).with_name("AvroOracle.java")
    answered = subprocess.run(
        ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path, str(program)],
        input=lines.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=100,
    )
    return [json.loads(line) for line in answered.stdout.splitlines()]


def our_answer(reader: Any, writer: Any) -> Any:
    parsed: list[Type | None] = []
    for one in (reader, writer):
        try:
            parsed.append(parse(json.dumps(one), {}))
        except NotAvro:
            parsed.append(None)
    found: Any = None
    if parsed[0] is not None and parsed[1] is not None:
        try:
            found = [list(one) for one in differences(parsed[0], parsed[1])]
        except Ambiguous:
            found = "ambiguous"
    texts = [None if one is None else canonical_text(one) for one in parsed]
    return {"reader": texts[0], "writer": texts[1], "differences": found}


def compare(seeds: range) -> int:
    """How many pairs both sides took for schemas."""
    pairs = []
    for seed in seeds:
        draw = Draw(seed)
        reader = draw.schema()
        pairs.append((reader, draw.changed(reader)))
    good = 0
    for seed, (reader, writer), theirs in zip(seeds, pairs, ask_java(pairs), strict=True):
        ours = our_answer(reader, writer)
        shown = f"seed {seed}: {json.dumps(reader)} {json.dumps(writer)}"
        assert ours == theirs, shown
        good += theirs["differences"] is not None
    return good


def test_a_default_that_needs_itself_is_none() -> None:
    endless = {"type": "record", "name": "A", "fields": [{"name": "f", "type": "A", "default": {}}]}
    assert ask_java([(endless, endless)]) == [our_answer(endless, endless)]
    assert our_answer(endless, endless)["reader"] is None


def test_drawn_schemas_have_avros_text_and_verdict() -> None:
    assert compare(range(1500)) > 500


@pytest.mark.long
def test_ten_thousand_drawn_pairs_have_avros_text_and_verdict() -> None:
    assert compare(range(10_000, 20_000)) > 3000
