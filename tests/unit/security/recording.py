"""Asks Apache Kafka's own classes (`Answers.java`) and writes down what they say.

    PYTHONPATH=tests python -m unit.security.recording

The questions are drawn from a seed, so that the tests ask Ottla the very same ones.
"""

import json
import random
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from support import certificates
from support.jars import class_path

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"

NAMES = ("a", "ab", "abc", "abd", "b", "*", "*x", "z.orders")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:alice")
HOSTS = ("*", "10.0.0.1", "10.0.0.2")


def acl_lines() -> Iterator[str]:
    """Worlds of a few rules each, and what is asked in them."""
    dice = random.Random(14)
    for world in range(60):
        yield f"world\tUser:root; User:CN=a,O=b ;\t{'true' if world % 3 == 0 else 'false'}"
        for _ in range(dice.randrange(7)):
            yield "\t".join(("acl", *drawn_rule(dice)))
        for _ in range(25):
            yield "\t".join(("ask", *asker(dice), str(dice.choice((2, 3, 4))), named(dice)))
        for _ in range(5):
            yield "\t".join(("some", *asker(dice), str(dice.choice((2, 3)))))
        for _ in range(3):
            yield "\t".join(("filter", *drawn_filter(dice)))


def drawn_rule(dice: random.Random) -> tuple[str, ...]:
    return (
        str(dice.choice((2, 2, 3, 4))),
        named(dice),
        str(dice.choice((3, 3, 4))),
        dice.choice(PRINCIPALS),
        dice.choice(HOSTS),
        str(dice.choice((2, 3, 4, 6, 7, 8, 10, 11))),
        str(dice.choice((2, 3, 3))),
    )


def asker(dice: random.Random) -> tuple[str, ...]:
    principal = dice.choice(("User:alice", "User:bob", "Group:alice", "User:root"))
    return principal, dice.choice(HOSTS[1:]), str(dice.choice((3, 4, 6, 7, 8, 10, 11)))


def named(dice: random.Random) -> str:
    return dice.choice(NAMES)


def drawn_filter(dice: random.Random) -> tuple[str, ...]:
    return (
        str(dice.choice((1, 2, 3))),
        dice.choice(("\\N", "\\N", *NAMES)),
        str(dice.choice((1, 2, 3, 4))),
        dice.choice(("\\N", "\\N", *PRINCIPALS)),
        dice.choice(("\\N", *HOSTS)),
        str(dice.choice((1, 1, 3, 8))),
        str(dice.choice((1, 1, 2, 3))),
    )


SUBJECTS: tuple[tuple[tuple[str, str, str], ...], ...] = (
    (("CN", "utf8", "alice"),),
    (("C", "printable", "DE"), ("O", "utf8", "Ottla, Inc."), ("CN", "utf8", "a+b=c")),
    (("CN", "utf8", " leading and trailing "),),
    (("CN", "utf8", '#<>;"\\'),),
    (("CN", "utf8", "Jürgen Ünal 東京"),),
    (("emailAddress", "ia5", "a@b.example"), ("CN", "printable", "mail")),
    (("DC", "ia5", "example"), ("DC", "ia5", "org"), ("UID", "utf8", "42"), ("OU", "utf8", "x")),
    (("serialNumber", "printable", "123"), ("ST", "utf8", "BY"), ("L", "utf8", "M")),
    (("STREET", "utf8", "A b"), ("title", "utf8", "Dr"), ("CN", "bmp", "Hi")),
    (("CN", "utf8", "many"), ("+OU", "utf8", "values"), ("O", "utf8", "o")),
    (("CN", "utf8", "nul\0inside"),),
    (("CN", "utf8", "  "),),
)
RULES: tuple[tuple[str, str], ...] = (
    ("DEFAULT", "CN=a,O=b"),
    ("RULE:^CN=(.*?),.*$/$1/L,DEFAULT", "CN=Alice,OU=x"),
    ("RULE:^CN=(.*?),.*$/$1/U", "CN=Alice,OU=x"),
    ("RULE:^CN=(.*?), *OU=(.*?)$/$1@$2/", "CN=Alice,OU=x"),
    ("RULE:CN=(\\w+)/$1-$2-$12/", "CN=Alice"),
    ("RULE:^CN=(\\w+)$/\\$1x/", "CN=Alice"),
    ("RULE:.*/x/", "CN=Alice"),
    ("RULE:^OU=x$/y/,RULE:^CN=(.*)$/$1$0/", "CN=z"),
    ("RULE:^OU=x$/y/", "CN=z"),
    ("RULE:^CN=(a)\\/(b)$/$2\\/$1/", "CN=a/b"),
    (" RULE:^CN=(?<who>.*)$/${who}/ , DEFAULT ", "CN=q"),
)
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS: tuple[str, ...] = (
    f'{_PLAIN} required username="a" password="b c" user_a="x;y=z";',
    f"{_PLAIN}   REQUIRED\n username='it''s' ;",
    f"{_PLAIN} optional // said\n a=b /* c=d */ e=f;",
    f'{_PLAIN} required a="tab\\tquote\\"octal\\101\\x" b="\\u0041";',
    f"{_PLAIN} required a=1;",
    f"{_PLAIN} required a=b",
    f"{_PLAIN} whenever a=b;",
    f"{_PLAIN} required a;",
    f'{_PLAIN} required a="open;',
    f"{_PLAIN} required a-b_c$d=e.f;",
    f"{_PLAIN} required; {_PLAIN} required;",
    "",
    f'{_PLAIN} required a="";',
)


def name_lines() -> Iterator[str]:
    for subject in SUBJECTS:
        yield f"name\t{certificates.with_subject(subject).hex()}"


def rule_lines() -> Iterator[str]:
    for rules, name in RULES:
        yield f"map\t{rules}\t{name}"


def jaas_lines() -> Iterator[str]:
    for line in JAAS:
        yield f"jaas\t{b64encode(line.encode()).decode()}"


SUBJECT_LINES = {
    "acls": acl_lines,
    "names": name_lines,
    "mapping": rule_lines,
    "jaas": jaas_lines,
}


def recorded(subject: str) -> list[tuple[list[str], str]]:
    """Questions and Kafka's answers."""
    pairs = json.loads((RECORDED / f"{subject}.json").read_text())
    return [(question.split("\t"), answer) for question, answer in pairs]


def main() -> None:
    RECORDED.mkdir(exist_ok=True)
    for subject, lines in SUBJECT_LINES.items():
        questions = list(lines())
        run = subprocess.run(
            ["java", "-Xmx256m", "-cp", class_path(), str(HERE / "Answers.java")],
            input="\n".join(questions) + "\n",
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        answers = [line[1:] for line in run.stdout.splitlines() if line.startswith("=")]
        pairs = zip(questions, answers, strict=True)
        text = ",\n".join(json.dumps(pair) for pair in pairs)
        (RECORDED / f"{subject}.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
