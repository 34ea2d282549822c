"""How much one schema may cost: hostile ones are refused with a sentence, not computed for ever."""

DEPTH_MAX = 150
"""Levels of a schema within each other. Confluent's parsers end with a stack overflow somewhere
above; nobody nests by hand as deeply."""
STEPS_MAX = 100_000
"""Pairs of types that one comparison may look at: about a second."""
REFERENCES_MAX = 1_000
"""Schemas that one may draw in through references, directly or not."""


class TooComplex(ValueError):
    """A schema that would take too long, or too much room."""


class Budget:
    """Counts what a comparison does."""

    def __init__(self, steps: int = STEPS_MAX) -> None:
        self._left = steps

    def step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooComplex("The schemas are too complex to be compared")
