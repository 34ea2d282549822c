"""What Python workers must be able to import: the application's own modules, and this package."""

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.pipelines.runtime.where import PACKAGE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_shipped: set[tuple[str | None, Path]] = set()  # by application of Spark's


def ship_modules(spark: "SparkSession", folder: Path) -> None:
    """Let Python workers import what lies beside the application: its modules and packages."""
    context = spark.sparkContext
    if (context.applicationId, folder) in _shipped or not folder.is_dir():
        return
    _shipped.add((context.applicationId, folder))
    modules = sorted(folder.glob("*.py"))
    for package in sorted(folder.glob("*/__init__.py")):
        modules += sorted(package.parent.rglob("*.py"))
    # Named after its content: Spark keeps one file of a name.
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in modules)).hexdigest()[:12]
    archive = Path(tempfile.mkdtemp(prefix="ottla-modules-")) / f"modules-{digest}.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in modules:
            target.write(path, path.relative_to(folder))
    context.addPyFile(str(archive))
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)


def package_archive() -> Path:
    """This package as a zip, so that the executors of a cluster need no installation of it."""
    package = Path(PACKAGE)
    target = Path(tempfile.mkdtemp(prefix="ottla-package-")) / "ottla"
    return Path(shutil.make_archive(str(target), "zip", package.parent, package.name))
