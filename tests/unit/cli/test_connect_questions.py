"""What a wizard asks: only what is required, or wrong."""

from typing import Any

from ottla.cli.connect_questions import answer, required, tables, unanswerable, wrong
from ottla.connect import plugins
from ottla.connect.definitions import InvalidConfig
from ottla.connect.validation import key_info, plugin_keys, validated


def keys(plugin: str) -> list[dict[str, Any]]:
    """As the route `…/config` answers."""
    found = plugins.find(plugin)
    own = plugins.module_of(found).DEFINITIONS
    return [key_info(one) for one in plugin_keys(found.kind, own, version="1")]


def checked(config: dict[str, str], **refused: str) -> dict[str, Any]:
    """As the route `…/config/validate` answers."""
    found = plugins.find(config["connector.class"])
    module = plugins.module_of(found)

    def check() -> None:
        module.make(config, found.name)
        if refused:
            named = {name.replace("_", "."): [sentence] for name, sentence in refused.items()}
            raise InvalidConfig(named)

    return validated(
        found.kind, module.DEFINITIONS, {**config}, {}, version="1", check=check
    ).body()


def test_only_what_has_no_default_is_asked_for_first() -> None:
    assert [one.name for one in required(keys("jdbc-source"), {})] == [
        "connection.url",
        "mode",
        "topic.prefix",
    ]
    said = {"mode": "bulk"}
    assert [one.name for one in required(keys("jdbc-source"), said)] == [
        "connection.url",
        "topic.prefix",
    ]


DATABASE = {
    "name": "shop",
    "connector.class": "jdbc-source",
    "connection.url": "jdbc:sqlite:/nowhere/shop.db",
    "topic.prefix": "shop-",
}


def test_what_a_choice_brings_with_it_is_asked_for_next() -> None:
    (asked,) = wrong(checked({**DATABASE, "mode": "timestamp"}), DATABASE)
    assert asked.name == "timestamp.column.name"
    assert asked.errors == ("mode timestamp needs timestamp.column.name",)


def test_a_bad_choice_is_told_with_what_there_is() -> None:
    said = {**DATABASE, "mode": "often"}
    (asked,) = wrong(checked(said), said)
    assert asked.choices == ("bulk", "timestamp", "incrementing", "timestamp+incrementing")
    assert asked.before == "often"
    assert answer(asked, "3") == "incrementing"
    assert answer(asked, "bulk") == "bulk"


def test_where_an_address_is_refused_the_one_who_signs_in_is_asked_for_too() -> None:
    said = {**DATABASE, "mode": "bulk"}
    asked = wrong(checked(said, connection_url="no password supplied"), said)
    assert [one.name for one in asked] == [
        "connection.url",
        "connection.user",
        "connection.password",
    ]
    assert [one.optional for one in asked] == [False, True, True]
    assert [one.hidden for one in asked] == [False, False, True]


def test_two_keys_that_are_wrong_together_are_one_question() -> None:
    said = {"name": "out", "connector.class": "file-sink", "file": "/tmp/out"}
    assert [one.name for one in wrong(checked(said), said)] == ["topics"]


def test_a_key_that_nobody_knows_cannot_be_asked_for() -> None:
    said = {
        "connector.class": "elasticsearch-sink",
        "name": "search",
        "topics": "orders",
        "connection.url": "http://127.0.0.1:9200",
        "connection.magic": "yes",
    }
    found = checked(said)
    assert wrong(found, said) == []
    assert unanswerable(found) == ["connection.magic: connection.magic is not served here."]


def test_tables_are_offered_unless_they_were_said() -> None:
    said = {**DATABASE, "mode": "bulk"}
    found = checked(said)
    assert tables(found, said) is None
    for one in found["configs"]:
        if one["value"]["name"] == "table.whitelist":
            one["value"]["recommended_values"] = ["orders", "people", "pets"]
    asked = tables(found, said)
    assert asked is not None
    assert answer(asked, "3, 1") == "pets,orders"
    assert answer(asked, "people, 4") == "people,4"
    assert tables(found, {**said, "table.include.list": "o.*"}) is None
    assert tables(found, {**said, "query": "SELECT 1"}) is None
