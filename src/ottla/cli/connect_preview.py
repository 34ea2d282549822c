"""`ottla connect preview`: what a configuration would write, printed and written nowhere."""

import json as json_
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.cli.arguments import Target
from ottla.cli.output import err, print_json, print_table
from ottla.client.connection import properties_in
from ottla.errors import OttlaError

if TYPE_CHECKING:
    from ottla.connect.pipeline import Failure, Row
    from ottla.connect.settings import Settings

Shown = dict[str, Any]  # topic or place, key, value; and headers, where there are some
_NAME = "preview"


def preview(
    config: Mapping[str, str], target: Target, worker: Path | None, rows_max: int, schemas: bool
) -> Iterator[Shown]:
    """OttlaError for whatever stands in the way."""
    try:
        from confluent_kafka import KafkaException

        from ottla.connect import plugins
        from ottla.connect.connector import ConnectError
        from ottla.connect.data import DataError
        from ottla.connect.definitions import InvalidConfig

        settings = _settings(target, worker)
    except ModuleNotFoundError as missing:
        raise _missing(missing) from None
    if not config.get("connector.class"):
        raise OttlaError("The configuration says no connector.class.")
    try:
        said = {"name": _NAME, **_resolved(config, settings)}
        if plugins.find(said["connector.class"]).kind == "source":
            yield from _of_source(said, settings, rows_max, schemas)
        else:
            yield from _of_sink(said, settings, rows_max)
    except InvalidConfig as error:
        wrong = [f"{name}: {one}" for name, sentences in error.errors.items() for one in sentences]
        raise OttlaError("\n".join(wrong)) from None
    except (ConnectError, DataError) as error:
        cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
        raise OttlaError(f"{error}{cause}") from None
    except KafkaException as error:
        raise OttlaError(f"The topics cannot be read: {error.args[0].str()}") from None
    except ModuleNotFoundError as missing:
        raise _missing(missing) from None


def print_rows(rows: Iterator[Shown], json: bool) -> int:
    """How many there were."""
    count = 0
    table: list[Shown] = []
    for one in rows:
        count += 1
        if json:
            print_json(one)
        else:
            table.append(one)
    if table:
        first = next(iter(table[0]))
        print_table(
            [first, "key", "value"],
            [(one[first], _text(one["key"]), _text(one["value"])) for one in table],
        )
    return count


def _missing(missing: ModuleNotFoundError) -> OttlaError:
    return OttlaError(f"{missing.name} is missing: install it with `pip install 'ottla[connect]'`.")


def _settings(target: Target, worker: Path | None) -> "Settings":
    """A worker's: its file, if there is one, and what was said of the cluster."""
    from ottla.connect.settings import read_settings
    from ottla.serving.options import Said

    more = [Said("bootstrap.servers", target.bootstrap, "--bootstrap")] if target.bootstrap else []
    properties = [*properties_in(target.file), *target.options]
    more += [Said(one.name, one.value, one.origin) for one in properties]
    return read_settings(worker, more)


def _resolved(config: Mapping[str, str], settings: "Settings") -> dict[str, str]:
    from ottla.connect.providers import REFERENCE, Providers

    providers = Providers(settings["config.providers"], settings.below("config.providers."))
    found = providers.resolve(config)
    for name, value in found.items():
        if REFERENCE.search(value):
            raise OttlaError(
                f"{name}={value} is resolved by a worker: name its file with --worker, which says "
                "by which config.providers."
            )
    return found


def _of_source(
    config: dict[str, str], settings: "Settings", rows_max: int, schemas: bool
) -> Iterator[Shown]:
    from ottla.connect.preview import source_rows

    for row in source_rows(config, settings.for_runs, rows_max, _tell):
        yield _shown(row, schemas)


def _of_sink(config: dict[str, str], settings: "Settings", rows_max: int) -> Iterator[Shown]:
    from ottla.connect.preview import sink_writes
    from ottla.connect.runs.run import RunPlan

    plan = RunPlan(
        name=config["name"],
        config=config,
        resolved=config,
        tasks=1,
        group_id=settings["group.id"],
        offsets_topic=settings["offset.storage.topic"],
        connection=settings.connection(),
        worker=settings.for_runs,
    )
    for one in sink_writes(plan, rows_max, _tell):
        yield {"place": one.place, "key": one.key, "value": one.value}


def _tell(failure: "Failure") -> None:
    err.print(f"{failure.stage.value} ({failure.class_name}): {failure.exception}")


def _shown(row: "Row", schemas: bool) -> Shown:
    shown = {
        "topic": row.topic,
        "key": _data(row.key, schemas),
        "value": _data(row.value, schemas),
    }
    if row.headers:
        shown["headers"] = [[name, _data(value, schemas)] for name, value in row.headers]
    return shown


def _data(data: bytes | None, schemas: bool) -> Any:
    """JSON as it is, without the schema around it unless that is asked for; else text or base64."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
    try:
        value = json_.loads(text)
    except ValueError:
        return text
    if not schemas and isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return value["payload"]
    return value


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json_.dumps(value, ensure_ascii=False)
