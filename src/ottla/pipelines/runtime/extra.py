"""Whether what the extra installs is there, told in a sentence before anything needs it."""

from importlib.util import find_spec

from ottla.errors import OttlaError

NEEDED = ("pyspark", "sqlglot", "pandas", "pyarrow")


def need_extra() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise OttlaError(
            f"Pipelines need {', '.join(missing)}: install what belongs to them with "
            "pip install 'ottla[pipelines]'."
        )
