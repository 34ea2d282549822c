"""Running the user's file, and what there is to say when it fails."""

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from ottla.errors import OttlaError
from ottla.pipelines.runtime.failures import lacks_spark, told


def load_file(path: Path, start_spark: Callable[[ModuleType], object]) -> ModuleType:
    """Run the file and return it as a module, whose functions travel to Python workers whole.

    `start_spark` is called with as much of the module as there is when the file turns out to need a
    session.
    """
    if not path.is_file():
        raise OttlaError(f"There is no file {path}.")
    name = path.stem.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise OttlaError(f"{path} is no Python file.")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        module = _executed(spec, spec.loader, start_spark)
    except OttlaError:
        raise
    except SyntaxError as error:
        place = f"{error.filename or path}:{error.lineno}"
        raise OttlaError(f"{place}: {error.msg}: {(error.text or '').strip()}") from error
    except Exception as error:
        raise OttlaError(told(error)) from error
    _send_by_value(module)
    return module


def _executed(
    spec: ModuleSpec, loader: Loader, start_spark: Callable[[ModuleType], object]
) -> ModuleType:
    """The file's module. Columns and pandas functions need Spark: then it is started, and the file
    is read again."""
    for attempt in (1, 2):
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            loader.exec_module(module)
            break
        except Exception as error:
            if attempt == 2 or not lacks_spark(error):
                raise
            start_spark(module)
    return module


def _send_by_value(module: object) -> None:
    """Python workers cannot import the user's file, so its functions travel whole."""
    try:
        from pyspark import cloudpickle
    except ImportError:
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
