"""Whose quota counts, and who shares it: Kafka's order of precedence."""

from collections.abc import Mapping

import pytest

from ottla.metadata.image import QuotaEntity
from ottla.security.quotas import IDLE_MS_MAX, PRODUCER_BYTE_RATE, ByteQuota, Charge, ClientQuota
from ottla.security.rates import Rate, SampleWindow, TokenBucket

USUAL = SampleWindow(11, 1)
ANY = None
USER, CLIENT = "user", "client-id"


def entity(**named: str | None) -> QuotaEntity:
    return tuple(sorted((kind.replace("_", "-"), name) for kind, name in named.items()))


IN_ORDER = (
    entity(user="u", client_id="c"),
    entity(user="u", client_id=ANY),
    entity(user="u"),
    entity(user=ANY, client_id="c"),
    entity(user=ANY, client_id=ANY),
    entity(user=ANY),
    entity(client_id="c"),
    entity(client_id=ANY),
)


def quota(limits: Mapping[QuotaEntity, float]) -> ByteQuota:
    made = ByteQuota(PRODUCER_BYTE_RATE, lambda: Rate(USUAL))
    made.load({one: {PRODUCER_BYTE_RATE: limit} for one, limit in limits.items()})
    return made


def limit_of(made: ByteQuota, principal: str = "User:u", client_id: str | None = "c") -> float:
    metered = made.of(principal, client_id, 0)
    return 0.0 if metered is None else metered.limit


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_nearest_quota_counts(first: int) -> None:
    limits = {one: float(place) for place, one in enumerate(IN_ORDER, 1) if place > first}
    assert limit_of(quota(limits)) == first + 1


def test_where_nobody_set_one_there_is_no_limit() -> None:
    assert quota({entity(user="v"): 1.0}).of("User:u", "c", 0) is None
    assert not quota({}).is_set


def test_connections_of_a_user_share_its_quota() -> None:
    made = quota({entity(user="u"): 100.0})
    made.record("User:u", "one", 600, 0)
    assert made.record("User:u", "two", 600, 0)[0] == 2000


def test_of_a_default_each_user_has_its_own() -> None:
    made = quota({entity(user=ANY): 100.0})
    assert made.record("User:u", None, 1200, 0)[0] == 2000
    assert made.record("User:v", None, 100, 0)[0] == 0


def test_users_with_the_same_client_id_share_the_quota_of_that_id() -> None:
    made = quota({entity(client_id="c"): 100.0})
    made.record("User:u", "c", 600, 0)
    assert made.record("User:v", "c", 600, 0)[0] == 2000
    assert made.record("User:v", "d", 9000, 0)[0] == 0


def test_a_quota_for_users_takes_its_place_beside_one_for_client_ids() -> None:
    made = quota({entity(client_id="c"): 5.0, entity(user="u"): 7.0})
    assert limit_of(made) == 7.0
    assert limit_of(made, "User:v") == 5.0


def test_a_change_holds_at_once_for_what_was_counted_before() -> None:
    made = quota({entity(user="u"): 1000.0})
    assert made.record("User:u", "c", 1200, 0)[0] == 0
    made.load({entity(user="u"): {PRODUCER_BYTE_RATE: 100.0}})
    assert made.record("User:u", "c", 0, 0)[0] == 2000


def test_who_was_not_seen_for_an_hour_is_forgotten() -> None:
    made = quota({entity(client_id=ANY): 100.0})
    for number in range(50):
        made.record("User:u", f"client-{number}", 1, 0)
    made.record("User:u", "late", 1, IDLE_MS_MAX)
    assert len(made._meters) == 1


def charge(metered: ClientQuota[TokenBucket], *, is_strict: bool, now_ms: int = 0) -> Charge:
    found = metered.of("User:u", "c", now_ms)
    assert found is not None
    return Charge(found, lambda: now_ms, is_strict=is_strict)


def mutations() -> ClientQuota[TokenBucket]:
    made = ClientQuota("controller_mutation_rate", lambda: TokenBucket(USUAL))
    made.load({entity(user="u"): {"controller_mutation_rate": 1.0}})
    return made


def test_changes_are_refused_once_the_bucket_is_overdrawn() -> None:
    made = mutations()
    first = charge(made, is_strict=True)
    assert first.take(13)
    assert (first.take(1), first.throttle_ms) == (False, 2000)
    assert charge(made, is_strict=True, now_ms=2000).take(1)


def test_older_clients_get_what_they_ask_for_and_wait_afterwards() -> None:
    made = mutations()
    asked = charge(made, is_strict=False)
    assert asked.take(13)
    assert asked.take(1)
    assert asked.throttle_ms == 3000
