"""usage: python -m system.rights

Asks Apache Kafka every question of every person, twice, and writes the record.
"""

import sys
import tempfile
from pathlib import Path

from system.rights import table
from system.rights.asking import answers, prepare, running_with_people


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="rights-") as folder,
        running_with_people("kafka", Path(folder)) as place,
    ):
        ids = prepare(place)
        told = answers(place, ids)
        again = answers(place, ids)
    varies = list(table.compare(told, again))
    for one in varies:
        print(f"Kafka varies: {one}", file=sys.stderr)
    table.write(told)
    return int(bool(varies))


if __name__ == "__main__":
    sys.exit(main())
