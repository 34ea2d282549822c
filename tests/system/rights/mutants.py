"""Rights that are not asked for, one at a time: the table must miss each.

PYTHONPATH=src:tests python -m system.rights.mutants NAME start server.properties
"""

import sys
from typing import NamedTuple

from differential.mutants import Mutant, serve_as, source_of

AREA = "rights"
TABLE = "ottla.broker.api"
OPEN = "-"
OF_TOKENS = tuple(f"{what}_delegation_token" for what in ("create", "renew", "expire"))
NOT_HERE = (
    "produce broker",
    "fetch broker",
    "controller_registration controller",
    *(f"{api} both" for api in OF_TOKENS),
    "describe_delegation_token broker",
)
"""The first two and the tokens' ask for rights where they are handled; controller_registration is
asked by nobody, since it is never without effect."""


class Missing(NamedTuple):
    mutant: Mutant
    api: str = ""
    """Whose answers change; empty: those of many."""


def rows() -> dict[str, Missing]:
    """Each API without its right."""
    found = {}
    for line in source_of(TABLE).splitlines():
        words = line.split()
        if len(words) != 8 or not words[0].isdigit():
            continue
        _, api, _, _, listeners, _, right, _ = words
        if right != OPEN and f"{api} {listeners}" not in NOT_HERE:
            place = line.rindex(f" {right} ") + 1
            wrong = line[:place] + OPEN.ljust(len(right)) + line[place + len(right) :]
            found[f"nobody asks who sends {api} ({listeners})"] = Missing(
                Mutant(AREA, TABLE, ((line, wrong),)), api
            )
    return found


MUTANTS = {
    **rows(),
    "everybody may write": Missing(
        Mutant(
            AREA,
            "ottla.broker.handlers.records.produce",
            (("if services.cluster.access.restricts:", "if False:"),),
        ),
        "produce",
    ),
    "everybody may read": Missing(
        Mutant(
            AREA,
            "ottla.broker.fetching.operation",
            (("if services.cluster.access.restricts:", "if False:"),),
        ),
        "fetch",
    ),
    "who is denied is let through": Missing(
        Mutant(
            AREA,
            "ottla.security.rules",
            (
                (
                    "            if acl.permission == Permission.DENY:\n                return",
                    "            if False:\n                return",
                ),
            ),
        ),
        "metadata",
    ),
    "nothing is implied": Missing(
        Mutant(
            AREA,
            "ottla.security.rules",
            (
                (
                    "return acl.operation in _IMPLYING.get(Operation(key.operation), ())",
                    "return False",
                ),
            ),
        ),
        "metadata",
    ),
    "a denial implies others": Missing(
        Mutant(
            AREA,
            "ottla.security.rules",
            (
                (
                    "Permission.DENY:\n        return False\n    return acl",
                    "None:\n        return False\n    return acl",
                ),
            ),
        ),
        "metadata",
    ),
    "a rule holds on every host": Missing(
        Mutant(AREA, "ottla.security.rules", (("acl.host in (key.host, WILDCARD)", "True"),)),
        "metadata",
    ),
    "a prefix is a name": Missing(
        Mutant(
            AREA, "ottla.security.rules", (("        if self._prefixed:\n", "        if False:\n"),)
        ),
        "metadata",
    ),
}


if __name__ == "__main__":
    serve_as(MUTANTS[sys.argv.pop(1)].mutant)
