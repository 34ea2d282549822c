"""Exceptions of the user's own code, told by the lines that are theirs. Also runs in workers."""

import linecache
import os
import re
import traceback

from ottla.pipelines.runtime.where import PACKAGE, Where

INSTALLED = f"{os.sep}site-packages{os.sep}"  # what others wrote


class UserCodeError(Exception):
    """A function of the application failed, and nothing was said about what to do then."""


def told(error: BaseException) -> str:
    """One sentence, and below it the user's lines that led to it, the nearest first."""
    frames = user_frames(error)
    said = _sentence(error)
    if not frames:
        return said
    *outer, last = frames
    lines = [f"{last.filename}:{last.lineno}: {said}", f"  {last.line}"]
    lines += [f"  from {f.filename}:{f.lineno}, in {f.name}: {f.line}" for f in reversed(outer)]
    return "\n".join(lines)


def told_in_a_line(error: BaseException) -> str:
    """The exception and the line of the user's that raised it."""
    frames = user_frames(error)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    line = f": {frames[-1].line}" if frames and frames[-1].line else ""
    return f"{_sentence(error)}{where}{line}"


def told_by_worker(text: str, where: Where) -> str:
    """The same of an exception that came as Spark's text; `where` if no line is in it.

    A worker's has its traceback. One of Spark's own expressions may say where that was written.
    """
    frames = [
        (file, int(line))
        for file, line in re.findall(r'File "([^"]+)", line (\d+)', text)
        if _is_users(file)
    ]
    frames += [(file, int(line)) for file, line in re.findall(r"was called from\n(.+):(\d+)", text)]
    file, line = frames[-1] if frames else (where.file, where.line)
    code = linecache.getline(file, line).strip()
    return f"{_last_sentence(text)} at {file}:{line}" + (f": {code}" if code else "")


def _last_sentence(text: str) -> str:
    """What was raised: behind a traceback's lines, or else the first line."""
    traced = text.rpartition("Traceback (most recent call last):")[2]
    raised = [line for line in traced.splitlines() if re.match(r"[A-Za-z_][\w.]*(:|$)", line)]
    first = (raised or text.splitlines() or [""])[0]
    first = re.sub(r"\[[A-Z0-9_.]+\] ", "", first).split(" SQLSTATE")[0]
    name, colon, rest = first.partition(": ")
    return f"{name.rpartition('.')[2]}{colon}{rest}"


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [
        frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)
    ]


def _is_users(file: str) -> bool:
    return not file.startswith(("<frozen", PACKAGE)) and INSTALLED not in file


def lacks_spark(error: BaseException) -> bool:
    """Whether something of PySpark was called that only works once a session is there."""
    inner = traceback.extract_tb(error.__traceback__)[-1:]
    if not inner or "pyspark" not in inner[0].filename:
        return False
    return isinstance(error, AssertionError) or "SESSION_OR_CONTEXT_NOT_EXISTS" in str(error)


def _sentence(error: BaseException) -> str:
    if lacks_spark(error):
        return (
            "pyspark's functions work once Spark runs: begin with ottla.spark_session(), or "
            "write the expression as text, like 'at > 3'."
        )
    first = str(error).split("\n\n")[0].strip()
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def cause(error: BaseException) -> str:
    """The last sentence of a failure that names a reason, out of pages of stack."""
    text = str(error).split("=== Streaming Query ===")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _tells(line)]
    return (telling or lines or [type(error).__name__])[-1][:300]


def _tells(line: str) -> bool:
    head = line.split(":", 1)[0]
    return (
        ("Error" in head or "Exception" in head)
        and " at " not in head
        and not line.startswith(("File ", "at ", "Caused by: java.lang.Thread"))
    )
