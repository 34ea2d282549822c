"""Every refusal of the registry in one table: HTTP status, code, and the text clients know.

Clients compare these texts, so they are Confluent's word by word.
"""

from ottla.serving.errors import RestError

NOT_FOUND = 404
CONFLICT = 409
UNPROCESSABLE = 422
SERVER = 500
INVALID_SCHEMA = 42201


def _found_nothing(code: int, message: str) -> RestError:
    return RestError(NOT_FOUND, code, message)


def subject_not_found(subject: str) -> RestError:
    return _found_nothing(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RestError:
    return _found_nothing(40402, f"Version {version} not found.")


def schema_not_found(which: int | str | None = None) -> RestError:
    if which is None:
        return _found_nothing(40403, "Schema not found")
    return _found_nothing(40403, f"Schema {which} not found")


def subject_soft_deleted(subject: str) -> RestError:
    return _found_nothing(
        40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> RestError:
    return _found_nothing(
        40405, f"Subject '{subject}' was not deleted first before being permanently deleted"
    )


def version_soft_deleted(subject: str, version: int) -> RestError:
    return _found_nothing(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted."
        "Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RestError:
    return _found_nothing(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being "
        "permanently deleted",
    )


def no_config(subject: str) -> RestError:
    return _found_nothing(
        40408, f"Subject '{subject}' does not have subject-level compatibility configured"
    )


def no_mode(subject: str) -> RestError:
    return _found_nothing(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, details: list[str]) -> RestError:
    return RestError(
        CONFLICT,
        409,
        "Schema being registered is incompatible with an earlier schema for subject "
        f'"{subject}", details: [{", ".join(details)}]',
    )


def invalid_schema(message: str) -> RestError:
    return RestError(UNPROCESSABLE, INVALID_SCHEMA, message)


def invalid_version(version: str) -> RestError:
    return RestError(
        UNPROCESSABLE,
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def invalid_level() -> RestError:
    return RestError(
        UNPROCESSABLE,
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode(
    message: str = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.",
) -> RestError:
    return RestError(UNPROCESSABLE, 42204, message)


def not_permitted(message: str) -> RestError:
    return RestError(UNPROCESSABLE, 42205, message)


def read_only(subject: str | None, context: str) -> RestError:
    return not_permitted(f"Subject {_shown(subject)} in context {context} is in read-only mode")


def reference_exists(subject: str, version: int) -> RestError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RestError(UNPROCESSABLE, 42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> RestError:
    return RestError(UNPROCESSABLE, 42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large() -> RestError:
    return RestError(UNPROCESSABLE, 42209, "Register operation failed because schema is too large")


def invalid_rules(message: str) -> RestError:
    return RestError(UNPROCESSABLE, 42210, message)


def context_not_empty(context: str) -> RestError:
    return RestError(UNPROCESSABLE, 42211, f"The specified context '{context}' is not empty.")


def timed_out(message: str) -> RestError:
    return RestError(SERVER, 50002, message)


def forwarding_failed(message: str) -> RestError:
    return RestError(SERVER, 50003, message)


def leader_unknown() -> RestError:
    return RestError(SERVER, 50004, "Leader not known.")


def _shown(subject: str | None) -> str:
    return "null" if subject is None else subject
