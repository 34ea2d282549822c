"""Which names a topic may have."""

from ottla.errors import ErrorCode, KafkaError

LENGTH_MAX = 249  # a directory's name must also hold the partition and a suffix
_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_topic_name(name: str) -> None:
    if not name:
        raise _invalid("A topic's name must not be empty.")
    if name in (".", ".."):
        raise _invalid(f"A topic cannot be named '{name}'.")
    if len(name) > LENGTH_MAX:
        raise _invalid(f"A topic's name has at most {LENGTH_MAX} characters, not {len(name)}.")
    if not _LEGAL.issuperset(name):
        raise _invalid(
            f"The topic name '{name}' has a character other than ASCII letters, digits, "
            "'.', '_' and '-'."
        )


def why_missing(name: str) -> ErrorCode:
    """What is said of a topic that is not there: who hears that none can have its name need not
    wait for it to be made."""
    try:
        check_topic_name(name)
    except KafkaError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def collision_key(name: str) -> str:
    """Metrics write '.' as '_': two names that differ in nothing else would be mixed up."""
    return name.replace(".", "_")


def may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
