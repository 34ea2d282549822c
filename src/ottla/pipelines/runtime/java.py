"""Finding the Java that Spark runs on, or saying in one sentence what to install."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ottla.errors import OttlaError

LEAST_JAVA = 17
ADVICE = (
    f"Pipelines run on Spark, which needs Java {LEAST_JAVA} or newer: install it "
    "(Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) "
    "or point JAVA_HOME at one."
)


@cache
def find_java() -> Path:
    """The home of a Java that is new enough: `JAVA_HOME` first, then `java` on the path."""
    if home := os.environ.get("JAVA_HOME"):
        program = Path(home) / "bin" / "java"
        if not program.exists():
            raise OttlaError(f"JAVA_HOME is {home}, but there is no bin/java in it. {ADVICE}")
    else:
        found = shutil.which("java")
        if found is None:
            raise OttlaError(ADVICE)
        program = Path(found).resolve()
    version = _version_of(program)
    if version < LEAST_JAVA:
        raise OttlaError(f"{program} is Java {version}. {ADVICE}")
    return program.parent.parent


def _version_of(program: Path) -> int:
    try:
        said = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise OttlaError(f"{program} does not run ({error}). {ADVICE}") from error
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if match is None:
        raise OttlaError(f"{program} does not say its version. {ADVICE}")
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major
