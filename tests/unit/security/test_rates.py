"""Windows and buckets: what Kafka's formula says, as values."""

from ottla.security.rates import Rate, SampleWindow, TokenBucket

USUAL = SampleWindow(11, 1)


def test_what_fits_into_the_window_is_not_throttled() -> None:
    rate = Rate(USUAL)
    rate.count(0, 1000)
    assert rate.throttle_ms(0, limit=100) == 0


def test_who_had_more_waits_until_the_rate_is_down_to_the_limit() -> None:
    rate = Rate(USUAL)
    rate.count(0, 1200)
    assert rate.throttle_ms(0, limit=100) == 2000


def test_time_that_passed_counts_from_the_oldest_sample_on() -> None:
    rate = Rate(USUAL)
    rate.count(0, 600)
    rate.count(500, 600)
    assert rate.throttle_ms(500, limit=100) == 1500
    rate.count(10_900, 100)
    assert rate.throttle_ms(10_900, limit=100) == 2100


def test_a_sample_counts_as_long_as_its_last_event_is_in_the_window() -> None:
    rate = Rate(USUAL)
    rate.count(0, 1100)
    rate.count(900, 1100)
    rate.count(11_800, 0)
    assert rate.throttle_ms(11_800, limit=100) > 0
    rate.count(11_900, 0)
    assert rate.throttle_ms(11_900, limit=100) == 0


def test_what_is_taken_back_was_never_counted() -> None:
    rate = Rate(USUAL)
    rate.count(0, 1500)
    rate.count(0, -1500)
    assert rate.throttle_ms(0, limit=100) == 0


def test_a_bucket_is_full_at_first_and_may_be_overdrawn_once() -> None:
    bucket = TokenBucket(USUAL)
    bucket.take(5_000_000, 2.0, 25)
    assert bucket.tokens(5_000_000, 2.0) == -3
    assert bucket.throttle_ms(5_000_000, 2.0) == 1500
    assert bucket.throttle_ms(5_001_500, 2.0) == 0


def test_a_bucket_holds_no_more_than_a_window_is_worth() -> None:
    bucket = TokenBucket(USUAL)
    bucket.take(0, 2.0, 1)
    assert bucket.tokens(3_600_000, 2.0) == 22
