"""Parts that are made when somebody first asks for them: a start pays for nothing nobody uses."""

from collections.abc import Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class OnFirstUse(Generic[T_co]):
    """Called for the part; the first call makes it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make
        self._made: T_co | None = None

    def __call__(self) -> T_co:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def made(self) -> T_co | None:
        """None: nobody has asked for it yet."""
        return self._made
