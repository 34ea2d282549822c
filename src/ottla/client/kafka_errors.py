"""What librdkafka and brokers refuse, in a sentence that says what to do."""

from confluent_kafka import KafkaError as ClientError

_UNREACHABLE = frozenset(
    {
        ClientError._TRANSPORT,
        ClientError._ALL_BROKERS_DOWN,
        ClientError._TIMED_OUT,
        ClientError._RESOLVE,
    }
)
_ADVICE = {
    ClientError.TOPIC_ALREADY_EXISTS: "Choose another name, or add --if-not-exists.",
    ClientError.UNKNOWN_TOPIC_OR_PART: "`ottla topic list` shows the topics there are.",
    ClientError.GROUP_ID_NOT_FOUND: "`ottla group list` shows the groups there are.",
    ClientError.NON_EMPTY_GROUP: "Stop the group's consumers first.",
    ClientError.UNKNOWN_MEMBER_ID: "Stop the group's consumers first.",
    ClientError.INVALID_REPLICATION_FACTOR: "There are fewer brokers than replicas asked for.",
    ClientError.MSG_SIZE_TOO_LARGE: "Raise max.message.bytes of the topic.",
}


def explain(error: BaseException, bootstrap: str) -> str:
    """A sentence that says what happened and what to do."""
    cause = error.args[0] if error.args else None
    if not isinstance(cause, ClientError):
        return str(error) or type(error).__name__
    if cause.code() in _UNREACHABLE:
        return (
            f"No broker answers at {bootstrap}. Start one with `ottla start`, "
            "or name another with --bootstrap."
        )
    said = cause.str().removeprefix("Broker: ").rstrip(".")
    return " ".join(filter(None, [f"{said}.", _ADVICE.get(cause.code())]))


def reason(error: BaseException) -> str:
    """The broker's words alone, to end a sentence with."""
    said: str = error.args[0].str()
    return said.removeprefix("Broker: ").rstrip(".")
