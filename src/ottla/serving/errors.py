"""The refusal that a REST service raises, and that `http` turns into a reply, once."""


class RestError(Exception):
    """A status of HTTP, a code of the service's own, and a sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message
