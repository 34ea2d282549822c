"""Tenants: a team's user, its rules and its quotas, all of them Kafka's own records.

A tenant's name is its user's, and the beginning of the names of all that it has: `acme` may do
everything with topics, groups and transactional ids that begin with `acme.`, and nothing else. No
name holds a dot, so that no tenant's names begin with another's.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ottla.client import acls, quotas, users
from ottla.client.acls import AclRule, RuleFilter
from ottla.client.users import StretchedPassword
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError

TOPIC, GROUP, TRANSACTIONAL_ID = 2, 3, 5
PREFIXED = 4
ALL, ALLOW = 2, 3
EVERYWHERE = "*"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Tenant(NamedTuple):
    name: str
    mechanisms: Mapping[int, int]
    rules: list[AclRule]
    quotas: Mapping[str, float]


def rules_of(name: str) -> list[AclRule]:
    if not _NAME.fullmatch(name):
        raise OttlaError(f"{name!r} is no name for a tenant: letters, digits, - and _, no dots.")
    return [
        AclRule(kind, f"{name}.", PREFIXED, f"User:{name}", EVERYWHERE, ALL, ALLOW)
        for kind in (TOPIC, GROUP, TRANSACTIONAL_ID)
    ]


async def create(
    wire: WireClient, name: str, password: StretchedPassword, limits: Mapping[str, float]
) -> None:
    """Rules and quotas first: the user is there when all that holds it is."""
    wanted = rules_of(name)
    if await users.users(wire, name):
        raise OttlaError(f"There is a user {name} already. `ottla user list` shows all.")
    await acls.add_rules(wire, wanted)
    if limits:
        await quotas.alter_quotas(wire, {"user": name}, limits)
    await users.set_password(wire, name, password)


async def names(wire: WireClient) -> list[str]:
    found = await acls.rules(wire, RuleFilter(TOPIC, None, PREFIXED, operation=ALL))
    return sorted(
        {
            rule.principal.partition(":")[2]
            for rule in found
            if rule.principal == f"User:{rule.resource_name.removesuffix('.')}"
        }
    )


async def show(wire: WireClient, name: str) -> Tenant:
    rules = await acls.rules(wire, RuleFilter(principal=f"User:{name}"))
    if not set(rules_of(name)) & set(rules):
        raise OttlaError(f"There is no tenant {name}. `ottla tenant list` shows those there are.")
    known = await users.users(wire, name)
    limits = await quotas.quotas(wire, {"user": name})
    return Tenant(name, known.get(name, {}), rules, limits[0][1] if limits else {})


async def delete(wire: WireClient, name: str) -> Tenant:
    """Its user, its rules and its quotas, as they were; its topics stay."""
    tenant = await show(wire, name)
    await users.delete_user(wire, name)
    await acls.remove_rules(wire, tenant.rules)
    if tenant.quotas:
        await quotas.alter_quotas(wire, {"user": name}, dict.fromkeys(tenant.quotas))
    return tenant
