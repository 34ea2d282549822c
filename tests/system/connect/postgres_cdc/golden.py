"""What Debezium wrote for `tables.sql` and `changes.sql`, kept so that it need not run."""

from pathlib import Path

from support import golden
from support.cdc import Shown

FOLDER = Path(__file__).parent
TABLES, CHANGES = FOLDER / "tables.sql", FOLDER / "changes.sql"


def recorded() -> dict[str, list[Shown]]:
    """By topic."""
    return golden.read(FOLDER / "debezium.json")
