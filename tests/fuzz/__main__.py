"""`make fuzz`: each target under atheris for some seconds, from seeds that real messages make.

A finding ends the run with the input that made it, kept in the working directory.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

# Of targets; importing them is left to who may watch it.
NAMES = ("frame", "body", "batch", "sasl", "jwt", "key_set", "jaas", "jks", "certificate")


def run(name: str, corpus: Path, seconds: int) -> None:
    """In a process of its own: libFuzzer never returns."""
    import atheris

    with atheris.instrument_imports(include=["ottla"]):
        from fuzz.targets import TARGETS, within_time
        from ottla.wire.compiler import Writer

    finish = Writer.finish  # decoders are written at run time: they have to be watched one by one
    watched = lambda *arguments: atheris.instrument_func(finish(*arguments))  # noqa: E731
    Writer.finish = watched  # type: ignore[method-assign]
    target = TARGETS[name]
    arguments = [name, f"-max_total_time={seconds}", "-max_len=65536", "-rss_limit_mb=1024"]
    atheris.Setup([*arguments, str(corpus)], lambda data: within_time(target, data))
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", choices=NAMES)
    parser.add_argument("--corpus", type=Path)
    asked = parser.parse_args()
    if asked.target is not None and asked.corpus is not None:
        run(asked.target, asked.corpus, asked.seconds)
        return 0
    from fuzz.seeds import seeds

    failed = []
    for name in [asked.target] if asked.target else NAMES:
        with tempfile.TemporaryDirectory(prefix="ottla-fuzz-") as corpus:
            for number, seed in enumerate(seeds(name)):
                (Path(corpus) / f"{number}").write_bytes(seed)
            command = [sys.executable, "-m", "fuzz", "--target", name, "--corpus", corpus]
            print(f"--- {name}", flush=True)
            if subprocess.run([*command, "--seconds", str(asked.seconds)]).returncode != 0:
                failed.append(name)
    print(f"findings in: {', '.join(failed)}" if failed else "no findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
