"""A network that loses, delays, repeats and reorders, with links cut in one direction or both."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ottla.simulation.engine.clock import Agenda


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad the network is: chances per message, delays in seconds."""

    loss: float = 0.0
    repeat: float = 0.0
    delay: float = 0.002
    slow: float = 0.0  # the chance of a delay that is a hundred times longer


CALM = Weather()


class HostileNetwork:
    def __init__(self, clock: Agenda, rng: Random) -> None:
        self.weather = CALM
        self.cut: set[tuple[int, int]] = set()  # (from, to)
        self._clock = clock
        self._rng = rng

    def isolate(self, node: int, others: list[int]) -> None:
        for other in others:
            self.cut |= {(node, other), (other, node)}

    def heal(self) -> None:
        self.cut.clear()
        self.weather = CALM

    def carry(self, source: int, target: int, arrive: Callable[[], None]) -> None:
        """Let a message arrive later: once, twice or never."""
        weather, rng = self.weather, self._rng
        copies = 2 if rng.random() < weather.repeat else 1
        for _ in range(copies):
            delay = weather.delay * (0.1 + rng.random())
            if rng.random() < weather.slow:
                delay *= 100
            lost = (source, target) in self.cut or rng.random() < weather.loss
            if not lost:
                self._clock.after(delay, arrive)
