"""MySQL's binary JSON as text, by mysql-replication; MariaDB's documents are texts already."""

import datetime
import json
from decimal import Decimal
from typing import Any

from pymysqlreplication.json_binary import parse_json


def document(data: bytes) -> str:
    return json.dumps(
        _plain(parse_json(data[0], data[1:])), ensure_ascii=False, separators=(",", ":")
    )


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {_plain(name): _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case bytes():
            return value.decode("utf-8", "replace")
        case Decimal():
            return float(value)
        case datetime.datetime() | datetime.date() | datetime.time() | datetime.timedelta():
            return str(value)
    return value
