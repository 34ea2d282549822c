"""Which Spark session an application gets: what the run says, else the application, else defaults.

An application's file may start Spark while it is still read, by `.df` or with functions of PySpark:
then the run's options have been told beforehand, with `prepare`.
"""

import os
from typing import TYPE_CHECKING

from ottla.pipelines.api.definitions import Application
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import LOCAL_MASTER, SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_prepared: RunOptions | None = None


def prepare(options: RunOptions) -> None:
    """What a session gets that is started while an application's file is read."""
    global _prepared
    _prepared = options


def start_spark(application: Application, options: RunOptions | None = None) -> "SparkSession":
    """The process's session; made as the application wants it if there is none."""
    return sessions.session(settings_for(application, options or _prepared))


def settings_for(application: Application, options: RunOptions | None) -> SparkSettings:
    if options is None:  # a script or a notebook that asks for .df
        return SparkSettings(
            name=application.name,
            master=os.environ.get("OTTLA_MASTER") or LOCAL_MASTER,
            parallelism=application.parallelism,
            memory=application.memory,
            extra=application.conf,
        )
    return SparkSettings(
        name=application.name,
        master=options.master,
        parallelism=application.parallelism,
        ui=options.ui,
        memory=options.memory or application.memory,
        log=options.state / application.name / "spark.log",
        extra={**application.conf, **options.conf},
    )
