"""How every world ends that does not end well."""


class Violation(AssertionError):
    """An invariant does not hold; the story says how it came to that."""
