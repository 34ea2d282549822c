"""A rate is that of the whole window: a burst is paid for, and forgotten in the end."""

from ottla.replication.quota import ReplicationQuota


def quota(bytes_per_s: int) -> ReplicationQuota:
    made = ReplicationQuota(samples=11, sample_s=1.0)
    made.bytes_per_s = bytes_per_s
    return made


def spend_all_there_is(of: ReplicationQuota, began: float, seconds: float, chunk: int) -> int:
    """Chunks ten times a second, whenever there is room; how many bytes that were."""
    passed = 0
    for tenth in range(int(seconds * 10)):
        now = began + tenth / 10
        if not of.is_spent(now):
            of.spend(now, chunk)
            passed += chunk
    return passed


def test_without_a_rate_nothing_is_ever_spent() -> None:
    unlimited = ReplicationQuota()
    unlimited.spend(0.0, 2**50)
    assert not unlimited.is_spent(0.0)


def test_a_burst_is_paid_for() -> None:
    burst = quota(100)
    burst.spend(7.0, 500)
    assert burst.is_spent(7.0)
    assert burst.is_spent(11.9)
    assert not burst.is_spent(12.1)


def test_exactly_the_rate_is_allowed() -> None:
    exact = quota(100)
    exact.spend(0.0, 100)
    assert not exact.is_spent(0.5)
    exact.spend(0.5, 1)
    assert exact.is_spent(0.9)


def test_over_a_minute_the_rate_is_kept_and_used() -> None:
    for chunk in (10, 100, 300):
        passed = spend_all_there_is(quota(100), 1000.0, 60.0, chunk)
        assert 5000 <= passed <= 6600, chunk


def test_what_is_older_than_the_window_is_forgotten() -> None:
    enormous = quota(1)
    enormous.spend(0.0, 2**40)
    assert enormous.is_spent(10.9)
    assert not enormous.is_spent(11.0)


def test_a_rate_that_is_changed_holds_for_what_has_passed() -> None:
    changed = quota(100)
    changed.spend(0.0, 1000)
    assert changed.is_spent(2.0)
    changed.bytes_per_s = 1000
    assert not changed.is_spent(2.0)
    changed.bytes_per_s = 100
    assert changed.is_spent(2.0)
