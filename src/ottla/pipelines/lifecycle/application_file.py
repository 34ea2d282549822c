"""Finding the application in the user's file."""

from pathlib import Path
from types import ModuleType

from ottla.errors import OttlaError
from ottla.pipelines.api.app import App
from ottla.pipelines.engine.choosing import start_spark
from ottla.pipelines.runtime.loading import load_file


def load_app(path: Path) -> App:
    """Run the file and return its `app`, or the only App it makes."""
    apps = _apps(load_file(path, _start_spark))
    if "app" in apps:
        return apps["app"]
    if len(set(apps.values())) != 1:
        raise OttlaError(
            f"{path} makes {len(apps) or 'no'} application{'s' if len(apps) > 1 else ''}: "
            "there must be one, called app."
        )
    return next(iter(apps.values()))


def _start_spark(module: ModuleType) -> None:
    """With the settings of the application as far as it is known."""
    start_spark(next(iter(_apps(module).values()), App(module.__name__)).definition())


def _apps(module: ModuleType) -> dict[str, App]:
    return {key: value for key, value in vars(module).items() if isinstance(value, App)}
