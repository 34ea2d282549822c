"""What the cache of tails keeps, and what it lets go."""

from ottla.log.tail import AGES, DROPPED_AT_ONCE, STALE_MIN, Tail, TailCache


def test_rolls_without_end_leave_nothing_behind() -> None:
    cache = TailCache(budget=1 << 20)
    tails = [Tail(cache, 0, 0) for _ in range(3)]
    for n in range(200):
        tail = tails[n % 3]
        for offset in range(300):
            tail.add(offset + 1, 10 * (offset + 1), b"0123456789")
        tail.clear(0, 0)
    assert cache.size == 0
    assert len(cache._order) <= STALE_MIN + 300


def test_what_is_kept_is_still_the_newest_after_stale_places_were_forgotten() -> None:
    cache = TailCache(budget=100_000)
    rolling, steady = Tail(cache, 0, 0), Tail(cache, 0, 0)
    for offset in range(100):
        steady.add(offset + 1, 10 * (offset + 1), b"0123456789")
    for _ in range(2 * STALE_MIN):
        rolling.add(1, 10, b"0123456789")
        rolling.clear(0, 0)
    found = steady.find(0, 10_000, 100, True)
    assert found is not None, "nothing was short of room"
    assert found.data == b"0123456789" * 100
    for offset in range(100, 600):
        steady.add(offset + 1, 10 * (offset + 1), b"0123456789")
    assert cache.size <= cache.budget
    assert steady.find(0, 10, 600, True) is None, "the oldest went first"
    assert steady.find(599, 10, 600, True) is not None


def test_what_is_old_goes_though_there_is_room() -> None:
    cache = TailCache(budget=1 << 20)
    tail = Tail(cache, 0, 0)
    tail.add(1, 10, b"0123456789")
    for _ in range(AGES):
        assert cache.age() == 0
    tail.add(2, 20, b"0123456789")
    assert cache.age() > 0
    assert tail.find(0, 10, 2, True) is None
    assert tail.find(1, 10, 2, True) is not None


def test_old_batches_go_a_part_at_a_time_until_none_is_left() -> None:
    cache = TailCache(budget=1 << 30)
    tail = Tail(cache, 0, 0)
    for offset in range(3 * DROPPED_AT_ONCE):
        tail.add(offset + 1, 10 * (offset + 1), b"0123456789")
    for _ in range(AGES + 1):
        cache.age()
    assert tail.count == 2 * DROPPED_AT_ONCE
    for _ in range(2):
        cache.age()
    assert cache.size == 0
    assert not cache._order
