"""What is written down about who came, who was refused and what was changed: as Apache Kafka's
authorizer logs it, and as events in the shape of OCSF 1.3 (https://schema.ocsf.io).

Pure. Events are made of names alone (principals, resources, APIs): nothing that was sent to prove
or to set something is ever handed in here.
"""

from collections.abc import Iterable
from typing import Any

from ottla.security.acls import Operation, PatternType, ResourceType
from ottla.security.rules import AccessDecision, show_rule
from ottla.version import VERSION

AUTHENTICATION, API_ACTIVITY = 3002, 6003
LOGON, CREATE, READ, UPDATE, DELETE, OTHER = 1, 1, 2, 3, 4, 99
SUCCESS, FAILURE = 1, 2
INFORMATIONAL, MEDIUM = 1, 3
NAME_MAX = 200
"""Of what strangers call themselves."""

_RESOURCE_NAMES = {
    ResourceType.TRANSACTIONAL_ID: "TransactionalId",
    ResourceType.DELEGATION_TOKEN: "DelegationToken",
}
_ACTIVITIES = {"create": CREATE, "delete": DELETE, "expire": DELETE}

Event = dict[str, Any]


def authorizer_line(
    principal: str,
    host: str,
    operation: Operation,
    resource: ResourceType,
    name: str,
    request: str,
    decision: AccessDecision,
) -> str:
    """In the form in which people search Kafka's `kafka-authorizer.log`."""
    verdict = "Allowed" if decision.allowed else "Denied"
    kind = _RESOURCE_NAMES.get(resource, resource.name.capitalize())
    return (
        f"Principal = {principal} is {verdict} operation = {operation.name} from host = {host} "
        f"on resource = {kind}:{PatternType.LITERAL.name}:{name} for request = {request} "
        f"with resourceRefCount = 1 based on rule {show_rule(decision.rule)}"
    )


def request_name(api: str) -> str:
    """As Kafka has it: `create_topics` is CreateTopics."""
    return "".join(word.capitalize() for word in api.split("_"))


def signed_in(
    now_ms: int, user: str, host: str, listener: str, mechanism: str, fault: str = ""
) -> Event:
    """A fault says why it was refused, in our words."""
    event = _event(now_ms, AUTHENTICATION, LOGON, failed=bool(fault))
    event["user"] = {"name": user[:NAME_MAX]}
    event["auth_protocol"] = mechanism
    event["src_endpoint"] = {"ip": host}
    event["dst_endpoint"] = {"svc_name": listener}
    if fault:
        event["status_detail"] = fault
    return event


def denied(
    now_ms: int,
    principal: str,
    host: str,
    operation: Operation,
    resource: ResourceType,
    name: str,
    api: str,
    decision: AccessDecision,
) -> Event:
    event = _request(now_ms, OTHER, principal, host, api, failed=True)
    event["activity_name"] = operation.name
    event["resources"] = [{"type": resource.name, "name": name[:NAME_MAX]}]
    event["status_detail"] = show_rule(decision.rule)
    return event


def changed(
    now_ms: int, principal: str, host: str, api: str, resources: Iterable[tuple[str, str]]
) -> Event:
    activity = _ACTIVITIES.get(api.partition("_")[0], UPDATE)
    event = _request(now_ms, activity, principal, host, api, failed=False)
    event["resources"] = [{"type": kind, "name": name[:NAME_MAX]} for kind, name in resources]
    return event


def dropped(now_ms: int, count: int) -> Event:
    """What was too much to be written down is at least counted."""
    event = _event(now_ms, API_ACTIVITY, OTHER, failed=True)
    event["activity_name"] = "events dropped"
    event["count"] = count
    return event


def _request(
    now_ms: int, activity: int, principal: str, host: str, api: str, *, failed: bool
) -> Event:
    event = _event(now_ms, API_ACTIVITY, activity, failed=failed)
    event["actor"] = {"user": {"name": principal[:NAME_MAX]}}
    event["src_endpoint"] = {"ip": host}
    event["api"] = {"operation": request_name(api), "service": {"name": "kafka"}}
    return event


def _event(now_ms: int, class_uid: int, activity: int, *, failed: bool) -> Event:
    return {
        "time": now_ms,
        "class_uid": class_uid,
        "category_uid": class_uid // 1000,
        "activity_id": activity,
        "type_uid": class_uid * 100 + activity,
        "severity_id": MEDIUM if failed else INFORMATIONAL,
        "status_id": FAILURE if failed else SUCCESS,
        "metadata": {"version": "1.3.0", "product": {"name": "Ottla", "version": VERSION}},
    }
