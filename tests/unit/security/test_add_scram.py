"""Users that a cluster begins with, in the words of `kafka-storage format --add-scram`."""

import random

import pytest

from ottla.errors import OttlaError
from ottla.security.add_scram import parse_user, render_user
from ottla.security.scram import SHA_256, SHA_512, credential, salted_password


class Drawn:
    def __init__(self) -> None:
        self.randbytes = random.Random(1).randbytes


CHANCE = Drawn()


def test_a_password_becomes_keys() -> None:
    user = parse_user('SCRAM-SHA-256=[name=alice,password="a secret"]', CHANCE)  # type: ignore[arg-type]
    keys = credential(
        SHA_256, salted_password(SHA_256, "a secret", user.salt, 4096), user.salt, 4096
    )
    assert (user.name, user.mechanism, user.iterations) == ("alice", 1, 4096)
    assert (user.stored_key, user.server_key) == (keys.stored_key, keys.server_key)


def test_a_line_for_every_voter_makes_the_same_user_everywhere_and_has_no_password() -> None:
    line = render_user("admin", SHA_512, "geheim", 8192, CHANCE)  # type: ignore[arg-type]
    assert "geheim" not in line
    first, second = (parse_user(line, CHANCE) for _ in range(2))  # type: ignore[arg-type]
    assert first == second
    keys = credential(
        SHA_512, salted_password(SHA_512, "geheim", first.salt, 8192), first.salt, 8192
    )
    assert first.stored_key == keys.stored_key


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("PLAIN=[name=a,password=geheim]", "begins with one of"),
        ("SCRAM-SHA-256=name=a,password=geheim", r"stands in \[ and \]"),
        ("SCRAM-SHA-256=[password=geheim]", "name is missing"),
        ("SCRAM-SHA-256=[name=a]", "password is missing"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=Z2g=]", "password is missing, or salt"),
        ("SCRAM-SHA-256=[name=a,password=geheim,iterations=10]", "from 4096 to"),
        ("SCRAM-SHA-256=[name=a,password=geheim,salt=?]", "salt is not base 64"),
        ("SCRAM-SHA-256=[name=a,pasword=geheim,password=b]", "1 of its parts"),
    ],
)
def test_what_cannot_be_read_is_told_without_the_password(line: str, sentence: str) -> None:
    with pytest.raises(OttlaError, match=sentence) as refusal:
        parse_user(line, CHANCE)  # type: ignore[arg-type]
    assert "geheim" not in str(refusal.value)
