"""Stop one broker, start the other on the same directory, and go back: everything is there."""

from collections.abc import Callable

import pytest

from support.brokers import BrokerProcess, Kind
from support.ledger import Ledger
from system.swap.conftest import Turn

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]


def stop(broker: BrokerProcess) -> None:
    broker.stop()


def kill(broker: BrokerProcess) -> None:
    broker.kill9()


@pytest.mark.parametrize("end", [stop, kill])
@pytest.mark.parametrize("kafka_first", [False, True], ids=["from-ottla", "from-kafka"])
def test_two_brokers_take_turns_on_one_directory(
    turn: Turn,
    broker_kind: Kind,
    other_kind: Kind,
    kafka_first: bool,
    end: Callable[[BrokerProcess], None],
) -> None:
    first, second = (other_kind, broker_kind) if kafka_first else (broker_kind, other_kind)
    ledger = Ledger()
    for number, kind in enumerate((first, second, first), start=1):
        broker = turn(kind)
        if ledger.rounds:
            ledger.check(broker.bootstrap, after_kill=end is kill)
        ledger.write(broker.bootstrap, f"round-{number}")
        ledger.check(broker.bootstrap)
        end(broker)
