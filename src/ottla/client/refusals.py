"""What a broker refuses over the wire, as a sentence for people."""

from ottla.errors import ErrorCode, OttlaError

_ADVICE = {
    ErrorCode.SECURITY_DISABLED: (
        "The cluster has no authorizer, so it has no rules. Its file needs authorizer.class.name."
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "The cluster does not let this user do that. An administrator has to, see --command-config."
    ),
    ErrorCode.RESOURCE_NOT_FOUND: "There is no such user.",
}


def refuse(code: int, message: str | None, about: str = "") -> None:
    """OttlaError, unless the code is none."""
    if not code:
        return
    known = ErrorCode(code)
    said = _ADVICE.get(known) or (message or known.name).rstrip(".") + "."
    raise OttlaError(f"{about}: {said}" if about else said)
