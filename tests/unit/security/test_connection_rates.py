"""New connections: who is served at once, who waits its turn, who is held and closed."""

from ottla.security.connection_rates import AT_ONCE, UNLIMITED, Admission, ConnectionRates
from ottla.security.rates import SampleWindow

HERE, THERE = "127.0.0.1", "10.0.0.9"
RATE = "connection_creation_rate"


def rates() -> ConnectionRates:
    return ConnectionRates(SampleWindow(11, 1), lambda name: [THERE] if name == "host" else [])


def admit(
    made: ConnectionRates, now_ms: int, host: str = HERE, listener: int = UNLIMITED
) -> Admission:
    return made.admit("L", host, now_ms, listener_limit=listener, broker_limit=UNLIMITED)


def test_where_nothing_is_limited_all_are_served_at_once() -> None:
    made = rates()
    assert all(admit(made, 0) is AT_ONCE for _ in range(1000))


def test_a_listener_takes_up_one_after_another_at_its_rate() -> None:
    made = rates()
    waits = [admit(made, 0, listener=5).wait_ms for _ in range(60)]
    assert waits[:50] == [0] * 50  # what a window is worth
    assert waits[50:52] == [200, 400]
    assert waits == sorted(waits)
    assert all(admit(made, 0, listener=5).is_served for _ in range(3))


def test_an_address_over_its_rate_is_held_and_closed_and_others_are_not() -> None:
    made = rates()
    made.load({(("ip", HERE),): {RATE: 2.0}})
    admitted = [admit(made, 0) for _ in range(21)]
    assert admitted[:20] == [AT_ONCE] * 20
    assert admitted[20] == Admission(500, False)
    assert admit(made, 0, host=THERE) is AT_ONCE
    assert admit(made, 500).is_served


def test_the_default_is_had_by_each_address_and_a_name_stands_for_its_own() -> None:
    made = rates()
    made.load({(("ip", None),): {RATE: 1.0}, (("ip", "host"),): {RATE: 3.0}})
    assert [admit(made, 0).is_served for _ in range(11)] == [True] * 10 + [False]
    assert [admit(made, 0, host=THERE).is_served for _ in range(31)] == [True] * 30 + [False]


def test_whoever_is_not_let_in_does_not_count_for_the_listener() -> None:
    made = rates()
    made.load({(("ip", THERE),): {RATE: 1.0}})
    for _ in range(60):
        admit(made, 0, host=THERE, listener=50)
    assert admit(made, 0, listener=50).wait_ms == 0
