"""Who counts as alive, by what was heard and when."""

from ottla.controller.sessions import BrokerSessions
from ottla.metadata.image import BrokerRegistration, Image


def test_a_silent_broker_is_stale_after_its_session_and_not_before() -> None:
    image = Image()
    image.brokers[1] = BrokerRegistration(id=1, epoch=1, incarnation=bytes(16), fenced=False)
    sessions = BrokerSessions(image.brokers.values(), 0.0, 9.0)
    assert sessions.stale(image, 9.0) == []
    assert sessions.stale(image, 9.1) == [1]


def test_a_controller_that_stood_still_does_not_blame_those_it_could_not_hear() -> None:
    image = Image()
    image.brokers[1] = BrokerRegistration(id=1, epoch=1, incarnation=bytes(16), fenced=False)
    sessions = BrokerSessions(image.brokers.values(), 0.0, 9.0)
    sessions.forgive(30.0)
    assert sessions.stale(image, 31.0) == []
    assert sessions.stale(image, 39.1) == [1]
