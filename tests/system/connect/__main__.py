"""Asks Kafka Connect every question of the table, and writes its answers down.

`python -m system.connect`; Apache Kafka's jars and a JVM are needed, the tests that compare with
what is written need neither.
"""

import json
import tempfile
from pathlib import Path

from support.brokers import running
from support.homes import Home
from system.connect.asking import answers
from system.connect.original import Original
from system.connect.requests import table
from system.connect.test_requests import RECORDED


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        (files / "in.txt").write_text("one\ntwo\nthree\n")
        with (
            running("ottla", Home(path=Path(folder) / "broker")) as broker,
            Original(broker.bootstrap) as connect,
        ):
            asked = answers(connect.url, table(str(files)), str(files))
            lines = [json.dumps(pair, sort_keys=True) for pair in asked]
    RECORDED.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} answers written to {RECORDED}")


if __name__ == "__main__":
    main()
