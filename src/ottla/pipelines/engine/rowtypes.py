"""The types of rows that stages have written, in this run and in earlier ones."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.pipelines.formats.values import ddl

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ottla.pipelines.runtime.storage import HadoopPath


def row_types(file: "Path | HadoopPath", now: "StructType") -> "Sequence[StructType]":
    """The type of what a stage writes now, and those it had in earlier runs, whose rows may wait.

    The file remembers them: a row of Spark's can only be read by who knows its type.
    """
    from pyspark.sql.types import StructType

    known = json.loads(file.read_text()) if file.exists() else []
    # Only names and types: Spark notes watermarks and the like in a field's metadata.
    bare: StructType = StructType.fromDDL(ddl(now)) if len(now) else now  # type: ignore[assignment]
    found = [bare, *(one for one in map(StructType.fromJson, known) if one != bare)]
    if known[:1] != [bare.jsonValue()]:
        text = json.dumps([one.jsonValue() for one in found])
        if isinstance(file, Path):  # whole or not at all, as Hadoop's file systems write anyway
            partial = file.with_name(f"{file.name}.new")
            partial.write_text(text)
            partial.replace(file)
        else:
            file.write_text(text)
    return found
