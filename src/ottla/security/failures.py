"""Why somebody is not let in.

What a client is told must not say whether a user exists: `InvalidCredentials` carries its reason
for the log only, and every one of them looks the same from outside.
"""


class AuthenticationFailed(Exception):
    """The client may be told this sentence."""


class InvalidCredentials(AuthenticationFailed):
    """The client is told that its credentials are invalid, and no more."""
