"""Connect's four logical types and the plain values that stand for them. Pure.

Java's Date reaches further than Python's years 1 to 9999: what lies outside is a DataError.
"""

import datetime
import decimal

from ottla.connect.data import SCALE, DataError, Schema

MS_PER_DAY = 86_400_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_MS = datetime.timedelta(milliseconds=1)
EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def scale_of(schema: Schema) -> int:
    said = (schema.parameters or {}).get(SCALE)
    if said is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(said)
    except ValueError:
        raise DataError("Invalid scale parameter found in Decimal schema: ") from None


def decimal_scale(value: decimal.Decimal) -> int:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise DataError(f"{value} is no decimal number")
    return -exponent


def decimal_bytes(schema: Schema, value: decimal.Decimal) -> bytes:
    return unscaled_bytes(scale_of(schema), value)


def unscaled_bytes(scale: int, value: decimal.Decimal) -> bytes:
    held = decimal_scale(value)
    if held != scale:
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {held}."
        )
    unscaled = int(EXACT.scaleb(value, scale))
    bits = unscaled.bit_length() if unscaled >= 0 else (unscaled + 1).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


def decimal_of(schema: Schema, data: bytes) -> decimal.Decimal:
    if not data:
        raise DataError("Zero length BigInteger")
    unscaled = decimal.Decimal(int.from_bytes(data, "big", signed=True))
    return EXACT.scaleb(unscaled, -scale_of(schema))


def days(value: datetime.date) -> int:
    return value.toordinal() - _EPOCH_DAY


def date_of(day: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(day + _EPOCH_DAY)
    except (ValueError, OverflowError):
        raise DataError(f"Date {day} lies outside the years 1 to 9999") from None


def time_ms(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def time_of(ms: int) -> datetime.time:
    if not 0 <= ms < MS_PER_DAY:
        raise DataError(
            "Time values must use number of milliseconds greater than 0 and less than 86400000"
        )
    seconds, rest = divmod(ms, 1000)
    return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)


def epoch_ms(value: datetime.datetime) -> int:
    """Without a zone it is taken for UTC."""
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return (value - _EPOCH) // _MS


def timestamp_of(ms: int) -> datetime.datetime:
    try:
        return _EPOCH + datetime.timedelta(milliseconds=ms)
    except OverflowError:
        raise DataError(f"Timestamp {ms} lies outside the years 1 to 9999") from None
