from ottla.coordination.timers import Timers


def test_a_deadline_comes_once() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 5.0)
    assert timers.due(4.9) == []
    assert timers.due(5.0) == ["a"]
    assert timers.due(9.0) == []
    assert timers.next() is None


def test_a_deadline_pushed_back_does_not_come_early() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 5.0)
    timers.set("a", 8.0)
    assert timers.next() == 5.0
    assert timers.due(5.0) == []
    assert timers.next() == 8.0
    assert timers.due(8.0) == ["a"]


def test_a_deadline_moved_forward_comes_early_and_only_then() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 8.0)
    timers.set("a", 5.0)
    assert timers.due(6.0) == ["a"]
    assert timers.due(10.0) == []


def test_a_cancelled_name_may_be_set_again() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 5.0)
    timers.cancel("a")
    timers.set("a", 7.0)
    assert timers.due(6.0) == []
    assert timers.due(7.0) == ["a"]


def test_pushing_back_forever_does_not_grow_the_heap() -> None:
    timers: Timers[str] = Timers()
    for second in range(1000):
        timers.set("a", second + 10.0)
        timers.due(float(second))
    assert len(timers._heap) == 1
