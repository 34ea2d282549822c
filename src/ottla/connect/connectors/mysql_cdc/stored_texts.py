"""Dates and times as a server writes them, made what the binlog would hold. Pure."""

import re
from typing import Final

from ottla.connect.connectors.debezium.days import DAY_US, days_since_epoch
from ottla.connect.connectors.mysql_cdc.binlog import Moment

_TIME: Final = re.compile(rb"(-?)(\d+):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")


def date_of(text: bytes) -> Moment:
    """`2020-02-29`, also of days that are in no calendar."""
    return Moment(int(text[:4]), int(text[5:7]), int(text[8:10]), 0)


def microseconds(text: bytes) -> int:
    """`-838:59:59.999999`."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not a time: {text.decode(errors='replace')}")
    sign, hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    us = whole * 1_000_000 + int((fraction or b"0").ljust(6, b"0")[:6])
    return -us if sign else us


def moment_of(text: bytes) -> Moment:
    """`2020-02-29 12:34:56.789`."""
    day = date_of(text)
    return day._replace(us=microseconds(text[11:]) if len(text) > 10 else 0)


def timestamp_of(text: bytes) -> int:
    """Microseconds since 1970 of a session in UTC; 0000-00-00 is stored as nothing."""
    moment = moment_of(text)
    if not moment.month or not moment.day:
        return 0
    days = days_since_epoch(moment.year, moment.month, moment.day)
    return days * DAY_US + moment.us
