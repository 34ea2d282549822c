"""Finding the application in the user's file."""

import importlib.util
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from ottla.errors import OttlaError
from ottla.pipelines.app import App
from ottla.pipelines.choosing import start_spark
from ottla.pipelines.failures import lacks_spark, told


def load_app(path: Path) -> App:
    """Run the file and return its `app`, or the only App it makes."""
    if not path.is_file():
        raise OttlaError(f"There is no file {path}.")
    name = path.stem.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise OttlaError(f"{path} is no Python file.")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        module = _executed(spec, spec.loader)
    except OttlaError:
        raise
    except SyntaxError as error:
        place = f"{error.filename or path}:{error.lineno}"
        raise OttlaError(f"{place}: {error.msg}: {(error.text or '').strip()}") from error
    except Exception as error:
        raise OttlaError(told(error)) from error
    _send_by_value(module)
    apps = _apps(module)
    if "app" in apps:
        return apps["app"]
    if len({id(app) for app in apps.values()}) != 1:
        raise OttlaError(
            f"{path} makes {len(apps) or 'no'} application{'s' if len(apps) > 1 else ''}: "
            "there must be one, called app."
        )
    return next(iter(apps.values()))


def _executed(spec: ModuleSpec, loader: Loader) -> ModuleType:
    """The file's module. Columns and pandas functions need Spark: then it is started, with the
    settings of the application as far as it is known, and the file is read again."""
    for attempt in (1, 2):
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            loader.exec_module(module)
            break
        except Exception as error:
            if attempt == 2 or not lacks_spark(error):
                raise
            start_spark(next(iter(_apps(module).values()), App(spec.name)).definition())
    return module


def _apps(module: ModuleType) -> dict[str, App]:
    return {key: value for key, value in vars(module).items() if isinstance(value, App)}


def _send_by_value(module: object) -> None:
    """Python workers cannot import the user's file, so its functions travel whole."""
    try:
        from pyspark import cloudpickle
    except ImportError:
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
