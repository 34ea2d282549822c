"""The state machine of the topic: what each record does, whatever came before it."""

from ottla.registry.entities import Config, Mode, Reference, Schema
from ottla.registry.names import covers, is_valid, normal, qualified, within
from ottla.registry.records import (
    ClearSubject,
    ClearSubjectKey,
    ConfigKey,
    Context,
    ContextKey,
    DeleteSubject,
    DeleteSubjectKey,
    ModeKey,
    SchemaKey,
    Write,
)
from ottla.registry.state import State


def state_of(*writes: Write) -> State:
    state = State()
    for write in writes:
        state.apply(write)
    return state


def schema(subject: str, version: int, id: int, text: str = "", **more: object) -> Write:
    held = Schema(subject, version, id, text or f'"{id}"', **more)  # type: ignore[arg-type]
    return Write(SchemaKey(subject, version), held)


def numbers(state: State, subject: str, *, deleted: bool = False) -> list[int]:
    return [one.version for one in state.versions(subject, deleted=deleted)]


def test_deleting_a_subject_deletes_the_versions_of_then() -> None:
    state = state_of(
        schema("s", 1, 1),
        schema("s", 2, 2),
        Write(DeleteSubjectKey("s"), DeleteSubject("s", 2)),
        schema("s", 3, 3),
    )
    assert numbers(state, "s") == [3]
    assert numbers(state, "s", deleted=True) == [1, 2, 3]


def test_a_tombstone_forgets_a_version_and_frees_no_id() -> None:
    state = state_of(schema("s", 1, 5), Write(SchemaKey("s", 1)))
    assert state.subjects == {}
    assert state.key_of(5, None) is None
    assert state.next_id(".") == 6


def test_the_second_text_of_an_id_is_not_believed() -> None:
    state = state_of(schema("s", 1, 1, '"int"'), schema("t", 1, 1, '"long"'))
    assert numbers(state, "t") == []


def test_ids_are_of_their_context() -> None:
    state = state_of(
        schema("s", 1, 4),
        Write(ContextKey(".a"), Context(".a")),
        schema(":.a:s", 1, 1, '"other"'),
    )
    assert (state.next_id("."), state.next_id(".a"), state.next_id(".b")) == (5, 2, 1)
    assert state.key_of(1, ":.a:") == SchemaKey(":.a:s", 1)
    assert state.key_of(1, "s") == SchemaKey(":.a:s", 1), "a subject is looked for everywhere"
    assert state.key_of(1, "") is None
    assert state.all_contexts() == [".", ".a"]
    assert state.matching("") == ["s"]
    assert state.matching(":*:") == [":.a:s", "s"]
    assert state.matching(":.") == [":.a:s", "s"]


def test_references_keep_track_of_who_uses_what() -> None:
    used = (Reference("R", "r", 1),)
    state = state_of(schema("r", 1, 1), schema("s", 1, 2, references=used))
    key = SchemaKey("r", 1)
    assert state.users(key, deleted=False) == [(".", 2)]
    state.apply(schema("s", 1, 2, references=used, deleted=True))
    assert state.users(key, deleted=False) == []
    assert state.users(key, deleted=True) == [(".", 2)]
    state.apply(Write(SchemaKey("s", 1)))
    assert state.users(key, deleted=True) == []


def test_clearing_forgets_what_was_deleted_in_a_scope() -> None:
    state = state_of(
        schema("s", 1, 1, deleted=True),
        schema("s", 2, 2),
        schema("t", 1, 1, deleted=True),
        Write(ClearSubjectKey("s"), ClearSubject("s")),
    )
    assert numbers(state, "s", deleted=True) == [2]
    assert numbers(state, "t", deleted=True) == [1]
    state.apply(Write(ClearSubjectKey(None), ClearSubject(None)))
    assert numbers(state, "t", deleted=True) == []


def test_settings_are_looked_for_from_the_subject_outwards() -> None:
    state = state_of(Write(ConfigKey(":.__GLOBAL:"), Config(level="NONE")))
    assert state.config_in_scope(":.a:s").level == "NONE"
    state.apply(Write(ConfigKey(":.a:"), Config(level="FULL")))
    assert state.config_in_scope(":.a:s").level == "FULL"
    state.apply(Write(ConfigKey(None), Config(level="FORWARD", normalize=True)))
    assert state.config_in_scope("s").level == "FORWARD"
    state.apply(Write(ConfigKey("s"), Config(group="g")))
    found = state.config_in_scope("s")
    assert (found.level, found.group, found.normalize) == ("BACKWARD", "g", True)
    assert state.config("nobody") is None
    state.apply(Write(ModeKey(":.a:"), Mode.READONLY))
    assert state.mode_in_scope(":.a:s") is Mode.READONLY
    assert state.mode_in_scope("s") is Mode.READWRITE


def test_names_are_taken_apart() -> None:
    assert qualified(":.ctx:a:b") == (".ctx", "a:b")
    assert qualified(":.ctx") == (".ctx", "")
    assert qualified("plain") == (".", "plain")
    assert normal(":.:orders") == "orders"
    assert str(within(":.ctx:s", "t")) == ":.ctx:t"
    assert str(within(":.ctx:s", ":.other:t")) == ":.other:t"
    assert covers(None, "s")
    assert covers(":.a:", ":.a:s")
    assert not covers("s", ":.a:s")
    assert covers(":.__GLOBAL:", ":.a:s")
    assert is_valid("")
    assert not is_valid("", may_be_empty=False)
    assert not is_valid("a\nb")
    assert not is_valid(":.__GLOBAL:s")
    assert is_valid(":.__GLOBAL:", for_setting=True)
