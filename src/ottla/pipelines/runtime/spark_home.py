"""Where Spark is, and the folder that stands for it in the cache."""

import contextlib
import hashlib
from pathlib import Path

from ottla.pipelines.runtime.jars import cache_folder


def installed_spark() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def spark_home() -> Path:
    """PySpark's folder without its zip of sources, which workers would compile at every start.

    Without the zip they import the installed package, whose bytecode is there already: a quarter
    of the processor time of a worker's start.
    """
    import pyspark

    installed = installed_spark()
    place = hashlib.sha256(str(installed).encode()).hexdigest()[:8]
    home = cache_folder() / f"spark-{pyspark.__version__}-{place}"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "sbin"):
        with contextlib.suppress(FileExistsError):
            (home / name).symlink_to(installed / name)
    return home
