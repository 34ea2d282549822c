"""Every route, good and bad: statuses, codes, bodies. The texts are those that clients compare."""

import json
from typing import Any

import pytest

from system.registry.processes import V1, Registry

A = '{"type":"record","name":"A","fields":[{"name":"f","type":"int"}]}'
A_LONG = '{"type":"record","name":"A","fields":[{"name":"f","type":"long"}]}'
A_TEXT = '{"type":"record","name":"A","fields":[{"name":"f","type":"string"}]}'
BY_ID = "/schemas/ids/"


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")


def error(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "message": message}


def test_a_schema_gets_an_id_a_version_and_a_guid(registry: Registry, subject: str) -> None:
    made = registry.register(subject, A)
    assert made.status == 200
    id, guid = made.body["id"], made.body["guid"]
    assert made.body == {"id": id, "version": 1, "guid": guid, "schemaType": "AVRO", "schema": A}
    stored = registry.get(f"/subjects/{subject}/versions/1").body
    times = stored.pop("ts")
    assert times > 1_600_000_000_000
    assert stored == {
        "subject": subject,
        "version": 1,
        "id": id,
        "guid": guid,
        "schemaType": "AVRO",
        "schema": A,
        "deleted": False,
    }


def test_the_same_schema_in_other_words_keeps_its_id(registry: Registry, subject: str) -> None:
    first = registry.register(subject, A).body
    spaced = '{ "fields":[ {"type":"int", "name":"f"} ],\n "name":"A", "type":"record" }'
    again = registry.register(subject, spaced).body
    assert (again["id"], again["version"]) == (first["id"], 1)
    elsewhere = registry.register(f"{subject}-2", A).body
    assert (elsewhere["id"], elsewhere["version"]) == (first["id"], 1)


def test_versions_are_listed_read_and_deleted(registry: Registry, subject: str) -> None:
    base = f"/subjects/{subject}"
    for schema in (A, A_LONG):
        registry.register(subject, schema)
    assert registry.get(f"{base}/versions").body == [1, 2]
    assert registry.get(f"{base}/versions/latest").body["version"] == 2
    assert registry.get(f"{base}/versions/-1").body["version"] == 2
    assert registry.get(f"{base}/versions/1/schema").body == json.loads(A)
    assert registry.delete(f"{base}/versions/1").body == 1
    assert registry.get(f"{base}/versions").body == [2]
    assert registry.get(f"{base}/versions?deleted=true").body == [1, 2]
    assert registry.get(f"{base}/versions?deletedOnly=true").body == [1]
    assert registry.get(f"{base}/versions?deletedAsNegative=true").body == [-1, 2]
    assert registry.get(f"{base}/versions/1").code == 40402
    assert registry.get(f"{base}/versions/1?deleted=true").body["deleted"] is True
    twice = registry.delete(f"{base}/versions/1")
    message = (
        f"Subject '{subject}' Version 1 was soft deleted.Set permanent=true to delete permanently"
    )
    assert twice.body == error(40406, message)
    early = registry.delete(f"{base}/versions/2?permanent=true")
    message = (
        f"Subject '{subject}' Version 2 was not deleted first before being permanently deleted"
    )
    assert early.body == error(40407, message)
    assert registry.delete(f"{base}/versions/1?permanent=true").body == 1
    assert registry.get(f"{base}/versions?deleted=true").body == [2]


def test_a_subject_is_deleted_softly_then_for_good(registry: Registry, subject: str) -> None:
    base = f"/subjects/{subject}"
    id = registry.register(subject, A).body["id"]
    registry.register(subject, A_LONG)
    early = registry.delete(f"{base}?permanent=true")
    message = f"Subject '{subject}' was not deleted first before being permanently deleted"
    assert early.body == error(40405, message)
    assert registry.delete(base).body == [1, 2]
    message = f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    assert registry.delete(base).body == error(40404, message)
    assert subject not in registry.get("/subjects").body
    assert subject in registry.get("/subjects?deleted=true").body
    assert subject in registry.get("/subjects?deletedOnly=true").body
    assert registry.get(f"{BY_ID}{id}").status == 200, "records with the id can still be read"
    assert registry.delete(f"{base}?permanent=true").body == [1, 2]
    assert registry.delete(base).body == error(40401, f"Subject '{subject}' not found.")


def test_a_schema_that_comes_back_gets_its_id_and_a_new_version(
    registry: Registry, subject: str
) -> None:
    id = registry.register(subject, A).body["id"]
    registry.delete(f"/subjects/{subject}")
    again = registry.register(subject, A).body
    assert (again["id"], again["version"]) == (id, 2)
    assert registry.get(f"/subjects/{subject}/versions?deleted=true").body == [2]


NOWHERE = [
    ("GET", "/subjects/nobody/versions", 40401, "Subject 'nobody' not found."),
    ("GET", "/subjects/nobody/versions/1", 40401, "Subject 'nobody' not found."),
    ("GET", "/subjects/nobody/versions/1/schema", 40401, "Subject 'nobody' not found."),
    ("GET", "/subjects/nobody/versions/1/referencedby", 40401, "Subject 'nobody' not found."),
    ("GET", "/subjects/nobody/metadata", 40401, "Subject 'nobody' not found."),
    ("DELETE", "/subjects/nobody/versions/1", 40401, "Subject 'nobody' not found."),
    ("GET", "/subjects/known/versions/9", 40402, "Version 9 not found."),
    ("DELETE", "/subjects/known/versions/9", 40402, "Version 9 not found."),
    ("GET", "/schemas/ids/99999", 40403, "Schema 99999 not found"),
    ("GET", "/schemas/ids/99999/schema", 40403, "Schema 99999 not found"),
    ("GET", "/schemas/ids/99999/versions", 40403, "Schema not found"),
    ("GET", "/schemas/ids/99999/subjects", 40403, "Schema not found"),
    ("GET", "/schemas/guids/nonsense", 40403, "Schema nonsense not found"),
    (
        "GET",
        "/config/nobody",
        40408,
        "Subject 'nobody' does not have subject-level compatibility configured",
    ),
    ("GET", "/mode/nobody", 40409, "Subject 'nobody' does not have subject-level mode configured"),
    ("DELETE", "/config/nobody", 40401, "Subject 'nobody' not found."),
    ("DELETE", "/mode/nobody", 40401, "Subject 'nobody' not found."),
    ("GET", "/nothing", 404, "HTTP 404 Not Found"),
    ("GET", "/schemas/ids/one", 404, "HTTP 404 Not Found"),
    ("GET", "/subjects?limit=many", 404, "HTTP 404 Not Found"),
    ("PATCH", "/subjects", 405, "HTTP 405 Method Not Allowed"),
    ("DELETE", "/schemas/types", 405, "HTTP 405 Method Not Allowed"),
    (
        "GET",
        "/subjects/known/versions/zero",
        42202,
        "The specified version 'zero' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    ),
]


@pytest.mark.parametrize(("method", "path", "code", "message"), NOWHERE)
def test_what_is_not_there_is_said_in_its_own_words(
    registry: Registry, method: str, path: str, code: int, message: str
) -> None:
    registry.register("known", A)
    answer = registry.ask(method, path)
    assert answer.body == error(code, message)
    assert str(code).startswith(str(answer.status))


BAD_BODIES = [
    ("POST", "/subjects/bad/versions", {"schema": '{"type":"nothing"}'}, 42201),
    ("POST", "/subjects/bad/versions", {"schema": "{"}, 42201),
    ("POST", "/subjects/bad/versions", {"schema": ""}, 42201),
    ("POST", "/subjects/bad/versions", {"schema": A, "schemaType": "XML"}, 42201),
    ("POST", "/subjects/bad/versions", {"schema": A, "version": 7}, 42201),
    ("POST", "/subjects/bad/versions", {"schema": A, "id": 77}, 42205),
    ("POST", "/subjects/bad/versions", {"schema": 1}, 422),
    ("POST", "/subjects/bad/versions", {"schema": A, "version": 2**40}, 422),
    ("POST", "/subjects/bad/versions", b"{", 400),
    ("POST", "/subjects/bad/versions", b"\xff", 400),
    ("POST", "/subjects/bad/versions", [], 422),
    ("POST", "/subjects/__EMPTY/versions", {"schema": A}, 42208),
    ("POST", "/subjects/%00/versions", {"schema": A}, 42208),
    (
        "POST",
        "/subjects/bad/versions",
        {"schema": A, "references": [{"name": "x", "subject": "x", "version": 1}]},
        42201,
    ),
    (
        "POST",
        "/subjects/bad/versions",
        {"schema": A, "ruleSet": {"domainRules": [{"name": "1"}]}},
        42210,
    ),
    ("POST", "/subjects/nobody", {"schema": A}, 40401),
    ("POST", "/compatibility/subjects/nobody/versions/1", {"schema": A}, 40402),
    ("POST", "/compatibility/subjects/nobody/versions/0", {"schema": A}, 42202),
    ("PUT", "/config", {"compatibility": "SOME"}, 42203),
    ("PUT", "/config/bad", {"compatibility": 1}, 422),
    ("PUT", "/mode", {"mode": "ASLEEP"}, 42204),
    ("PUT", "/mode/bad", {"mode": "FORWARD"}, 42204),
    ("PUT", "/mode/__GLOBAL", {"mode": "READONLY"}, 42208),
]


@pytest.mark.parametrize(("method", "path", "body", "code"), BAD_BODIES)
def test_a_bad_body_is_refused_with_its_code(
    registry: Registry, method: str, path: str, body: Any, code: int
) -> None:
    answer = registry.ask(method, path, body)
    assert answer.code == code, answer
    assert str(code).startswith(str(answer.status))


def test_unknown_fields_are_passed_over(registry: Registry, subject: str) -> None:
    assert registry.register(subject, A, somethingNew={"a": 1}).status == 200


def test_types_of_content_are_negotiated(registry: Registry) -> None:
    def accepting(kind: str) -> Any:
        return registry.ask("GET", "/subjects", headers={"Accept": kind})

    assert registry.get("/subjects").content_type == V1
    assert accepting("*/*").content_type == V1
    assert accepting("application/json").content_type == "application/json"
    preferred = "application/json;q=0.5, application/vnd.schemaregistry+json"
    assert accepting(preferred).content_type == "application/vnd.schemaregistry+json"
    assert accepting("text/html").body == error(406, "HTTP 406 Not Acceptable")
    for sent, status in (("application/octet-stream", 200), ("text/plain", 415)):
        headers = {"Content-Type": sent}
        answer = registry.ask("POST", "/subjects/typed/versions", {"schema": A}, headers)
        assert answer.status == status


def test_a_name_with_a_slash_is_one_name(registry: Registry) -> None:
    assert registry.register("folder%2Fname%20%C3%A9", A).status == 200
    assert "folder/name é" in registry.get("/subjects").body
    assert registry.get("/subjects/folder%2Fname%20%C3%A9/versions").body == [1]


def test_who_has_an_id_is_told(registry: Registry, subject: str) -> None:
    own = json.dumps({"type": "enum", "name": "Own", "symbols": [subject[-10:]]})
    made = registry.register(subject, own).body
    registry.register(f"{subject}-2", own)
    id, guid = made["id"], made["guid"]
    held = [subject, f"{subject}-2"]
    assert registry.get(f"{BY_ID}{id}/subjects").body == held
    expected = [{"subject": one, "version": 1} for one in held]
    assert registry.get(f"{BY_ID}{id}/versions").body == expected
    assert registry.get(f"{BY_ID}{id}").body["schema"] == made["schema"]
    assert registry.get(f"{BY_ID}{id}?fetchMaxId=true").body["maxId"] >= id
    assert registry.get(f"/schemas/guids/{guid}/ids").body == [{"context": ".", "id": id}]
    by_guid = registry.get(f"/schemas/guids/{guid}").body
    assert (by_guid["guid"], by_guid["schema"]) == (guid, made["schema"])
    assert "subject" not in by_guid
    listed = registry.get(f"/schemas?subjectPrefix={subject}&latestOnly=true").body
    assert [one["subject"] for one in listed] == held
    assert registry.get(f"/schemas?subjectPrefix={subject}&limit=1&offset=1").body == listed[1:]


def test_compatibility_is_checked_before_and_while_registering(
    registry: Registry, subject: str
) -> None:
    registry.register(subject, A)
    path = f"/compatibility/subjects/{subject}/versions"
    assert registry.post(f"{path}/latest", {"schema": A_LONG}).body == {"is_compatible": True}
    assert registry.post(f"{path}/1", {"schema": A_TEXT}).body == {"is_compatible": False}
    told = registry.post(f"{path}?verbose=true", {"schema": A_TEXT}).body["messages"]
    assert told[0].startswith("{errorType:'TYPE_MISMATCH'")
    assert told[1:3] == ["{oldSchemaVersion: 1}", f"{{oldSchema: '{A}'}}"]
    assert told[3] == "{validateFields: 'false', compatibility: 'BACKWARD'}"
    refused = registry.register(subject, A_TEXT)
    assert (refused.status, refused.code) == (409, 409)
    begin = (
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
    )
    assert refused.body["message"] == f"{begin}, details: [{', '.join(told)}]"
    nonsense = registry.post(f"{path}/latest?verbose=true", {"schema": "{"}).body
    assert nonsense["is_compatible"] is False
    assert registry.post(
        f"/compatibility/subjects/{subject}-no/versions/latest", {"schema": A}
    ).body["is_compatible"], "an unknown subject takes anything"


LEVELS = [
    ("NONE", A_TEXT, True),
    ("BACKWARD", A_LONG, True),
    ("FORWARD", A_LONG, False),
    ("FULL", A_LONG, False),
    ("BACKWARD_TRANSITIVE", A_LONG, True),
    ("forward_transitive", A_LONG, False),
    ("FULL_TRANSITIVE", A_LONG, False),
]


@pytest.mark.parametrize(("level", "newer", "fits"), LEVELS)
def test_levels_say_which_way(
    registry: Registry, subject: str, level: str, newer: str, fits: bool
) -> None:
    name = f"{subject}-{level}"
    registry.register(name, A)
    assert registry.put(f"/config/{name}", {"compatibility": level}).body == {
        "compatibility": level.upper()
    }
    assert registry.register(name, newer).status == (200 if fits else 409)


def test_a_setting_is_kept_shown_and_taken_back(registry: Registry, subject: str) -> None:
    path = f"/config/{subject}"
    assert registry.get(f"{path}?defaultToGlobal=true").body == {"compatibilityLevel": "BACKWARD"}
    registry.put(path, {"compatibility": "FULL", "compatibilityGroup": "major"})
    both = {"compatibilityLevel": "FULL", "compatibilityGroup": "major"}
    assert registry.get(path).body == both
    registry.put(path, {"compatibilityGroup": None})
    assert registry.get(path).body == {"compatibilityLevel": "FULL"}
    assert registry.delete(path).body == {"compatibilityLevel": "FULL"}
    assert registry.get(path).code == 40408


def test_only_schemas_of_one_group_must_agree(registry: Registry, subject: str) -> None:
    registry.put(f"/config/{subject}", {"compatibilityGroup": "major"})

    def of_group(major: str) -> dict[str, Any]:
        return {"metadata": {"properties": {"major": major}}}

    assert registry.register(subject, A, **of_group("1")).status == 200
    assert registry.register(subject, A_TEXT, **of_group("1")).status == 409
    assert registry.register(subject, A_TEXT, **of_group("2")).status == 200


def test_metadata_and_rules_are_kept_and_make_another_schema(
    registry: Registry, subject: str
) -> None:
    rules = {"domainRules": [{"name": "check", "type": "CEL", "kind": "CONDITION", "expr": "1"}]}
    plain = registry.register(subject, A).body
    ruled = registry.register(subject, A, ruleSet=rules).body
    assert ruled["version"] == 2
    assert ruled["id"] != plain["id"]
    (rule,) = ruled["ruleSet"]["domainRules"]
    assert rule == {
        "name": "check",
        "kind": "CONDITION",
        "mode": "WRITEREAD",
        "type": "CEL",
        "expr": "1",
        "disabled": False,
    }
    inherited = registry.register(subject, A_LONG).body
    assert inherited["ruleSet"] == ruled["ruleSet"], "the next version keeps the rules"


def test_defaults_and_overrides_are_added_to_what_is_registered(
    registry: Registry, subject: str
) -> None:
    defaults = {"properties": {"owner": "nobody", "tier": "1"}}
    forced = {"properties": {"tier": "0"}}
    registry.put(f"/config/{subject}", {"defaultMetadata": defaults, "overrideMetadata": forced})
    own = {"properties": {"owner": "me"}}
    made = registry.register(subject, A, metadata=own).body
    assert made["metadata"] == {"properties": {"owner": "me", "tier": "0"}}


def test_modes_forbid_what_they_say(registry: Registry, subject: str) -> None:
    registry.register(subject, A)
    assert registry.put(f"/mode/{subject}", {"mode": "READONLY"}).body == {"mode": "READONLY"}
    refused = registry.register(subject, A_LONG)
    message = f"Subject {subject} in context  is in read-only mode"
    assert refused.body == error(42205, message)
    assert registry.delete(f"/subjects/{subject}").code == 42205
    assert registry.get(f"/mode/{subject}").body == {"mode": "READONLY"}
    assert registry.delete(f"/mode/{subject}").body == {"mode": "READONLY"}
    assert registry.register(subject, A_LONG).status == 200
    full = registry.put(f"/mode/{subject}", {"mode": "IMPORT"})
    assert full.body == error(42205, "Cannot import since found existing subjects")


def test_imported_schemas_bring_their_ids(registry: Registry, subject: str) -> None:
    assert registry.put(f"/mode/{subject}", {"mode": "IMPORT"}).status == 200
    own = json.dumps({"type": "enum", "name": "Imported", "symbols": ["A"]})
    made = registry.register(subject, own, id=40_000, version=5)
    assert (made.body["id"], made.body["version"]) == (40_000, 5)
    other = json.dumps({"type": "enum", "name": "Imported", "symbols": ["B"]})
    clash = registry.register(subject, other, id=40_000, version=6)
    assert clash.code == 42205
    assert "Overwrite new schema with id 40000" in clash.body["message"]
    without = registry.register(subject, other)
    assert without.code == 42205
    assert registry.get(f"{BY_ID}40000").body["subject"] == subject


def test_ids_count_in_each_context(registry: Registry) -> None:
    own = '{"type":"enum","name":"InContext","symbols":["A"]}'
    first = registry.register(":.staging:orders", own).body
    assert first["id"] == 1
    assert (
        registry.post("/contexts/.staging/subjects/bills/versions", {"schema": A}).body["id"] == 2
    )
    assert registry.get("/contexts").body == [".", ".staging"]
    held = [":.staging:bills", ":.staging:orders"]
    assert registry.get("/contexts/.staging/subjects").body == held
    assert registry.get("/subjects?subjectPrefix=:.staging:").body == held
    assert registry.get("/contexts/.staging/schemas/ids/1").body["schema"] == own
    assert registry.get("/schemas/ids/1?subject=:.staging:").body["schema"] == own
    assert registry.put("/contexts/.staging/config", {"compatibility": "NONE"}).status == 200
    assert registry.get("/config/:.staging:").body == {"compatibilityLevel": "NONE"}
    in_scope = registry.get("/config/:.staging:orders?defaultToGlobal=true").body
    assert in_scope == {"compatibilityLevel": "NONE"}
    full = registry.delete("/contexts/.staging")
    assert full.body == error(42211, "The specified context ':.staging:' is not empty.")
    for path in held:
        registry.delete(f"/subjects/{path}")
        registry.delete(f"/subjects/{path}?permanent=true")
    assert registry.delete("/contexts/.staging").status == 204
    assert registry.get("/contexts").body == ["."]


def test_an_alias_stands_for_a_subject(registry: Registry, subject: str) -> None:
    registry.register(subject, A)
    registry.put(f"/config/{subject}-alias", {"alias": subject})
    assert registry.get(f"/subjects/{subject}-alias/versions/1").body["subject"] == subject


def test_what_is_referred_to_cannot_be_deleted(registry: Registry, subject: str) -> None:
    inner = '{"type":"record","name":"In","fields":[]}'
    registry.register(f"{subject}-in", inner)
    outer = '{"type":"record","name":"Out","fields":[{"name":"x","type":"In"}]}'
    named = [{"name": "In", "subject": f"{subject}-in", "version": -1}]
    made = registry.register(subject, outer, references=named).body
    assert made["references"][0]["version"] == 1, "the latest is the one of now"
    assert made["schema"] == outer
    users = registry.get(f"/subjects/{subject}-in/versions/1/referencedby").body
    assert users == [made["id"]]
    refused = registry.delete(f"/subjects/{subject}-in")
    key = f"{{magic=1,keytype=SCHEMA,subject={subject}-in,version=1}}"
    assert refused.body == error(42206, f"One or more references exist to the schema {key}.")
    resolved = registry.get(f"/subjects/{subject}/versions/1/schema?format=resolved").body
    assert resolved["fields"][0]["type"]["name"] == "In"
    whole = registry.post(f"/subjects/{subject}", {"schema": json.dumps(resolved)})
    assert whole.body["id"] == made["id"], "found also with all references written out"


def test_a_normal_form_is_the_same_schema(registry: Registry, subject: str) -> None:
    one = '{"type":"record","name":"N","fields":[],"b":1,"a":2}'
    two = '{"type":"record","name":"N","fields":[],"a":2,"b":1}'
    path = f"/subjects/{subject}/versions?normalize=true"
    first = registry.post(path, {"schema": one}).body
    assert registry.post(path, {"schema": two}).body["id"] == first["id"]
    assert first["schema"] == two


def test_the_server_tells_about_itself(registry: Registry) -> None:
    assert registry.get("/").body == {}
    assert sorted(registry.get("/schemas/types").body) == ["AVRO", "JSON", "PROTOBUF"]
    clusters = registry.get("/v1/metadata/id").body["scope"]["clusters"]
    assert clusters["schema-registry-cluster"] == registry.options["schema.registry.group.id"]
    assert clusters["kafka-cluster"]
    assert registry.get("/v1/metadata/version").body["version"]


def test_json_schemas_and_protobuf_files_are_checked_and_compared(
    registry: Registry, subject: str
) -> None:
    closed = {"type": "object", "properties": {"a": {"type": "string"}}}
    typed = {"schemaType": "JSON"}
    assert registry.register(f"{subject}-j", closed, **typed).status == 200
    wider = {"type": "object", "properties": {"a": {"type": "integer"}}}
    refused = registry.register(f"{subject}-j", wider, **typed)
    assert 'errorType:"TYPE_CHANGED"' in refused.body["message"]
    assert registry.register(f"{subject}-j", {"type": "nothing"}, **typed).code == 42201
    remote = {"$ref": "http://127.0.0.1:1/x.json"}
    assert registry.register(f"{subject}-r", remote, **typed).code == 42201
    proto = 'syntax = "proto3";\nmessage M {\n  string a = 1;\n}\n'
    typed = {"schemaType": "PROTOBUF"}
    made = registry.register(f"{subject}-p", proto, **typed)
    assert made.body["schema"] == 'syntax = "proto3";\n\nmessage M {\n  string a = 1;\n}\n'
    refused = registry.register(f"{subject}-p", proto.replace("string", "int32"), **typed)
    assert 'errorType:"FIELD_SCALAR_KIND_CHANGED"' in refused.body["message"]
    unknown = registry.register(f"{subject}-p", proto.replace("string", "Nobody"), **typed)
    assert (unknown.code, "Nobody" in unknown.body["message"]) == (42201, True)


def test_tags_are_found_added_and_removed(registry: Registry, subject: str) -> None:
    inner = {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "a", "type": "string"}, {"name": "in", "type": ["null", inner]}]
    order = {"type": "record", "name": "Order", "namespace": "n.s", "fields": fields}

    def tags(path: str, kind: str, *names: str) -> dict[str, Any]:
        return {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": list(names)}

    on_field, on_inner = tags("n.s.Order.a", "sr_field", "PII"), tags("n.s.In", "sr_record", "T")
    assert registry.register(subject, order, schemaTagsToAdd=[on_field]).body["version"] == 1
    path = f"/subjects/{subject}/versions"
    first = registry.get(f"{path}/1?findTags=*").body
    assert first["schemaTags"] == [on_field]
    assert json.loads(first["schema"])["fields"][0]["confluent:tags"] == ["PII"]
    assert first["metadata"]["properties"] == {"confluent:version": "1"}
    made = registry.post(f"{path}/latest/tags", {"newVersion": 2, "tagsToAdd": [on_inner]}).body
    assert made["version"] == 2
    by_id = registry.get(f"/schemas/ids/{made['id']}?findTags=T&findTags=none").body
    assert by_id["schemaTags"] == [on_inner]
    kept = {**order, "doc": "again"}
    registry.register(subject, kept, propagateSchemaTags=True)
    assert registry.get(f"{path}/3?findTags=*").body["schemaTags"] == [on_field, on_inner]
    removing = {"tagsToRemove": [on_field], "rulesToRemove": ["no such rule"]}
    assert registry.post(f"{path}/3/tags", removing).status == 200
    assert registry.get(f"{path}/latest?findTags=*").body["schemaTags"] == [on_inner]
    lost = {"tagsToAdd": [tags("n.s.Nowhere", "sr_record", "T")]}
    assert registry.post(f"{path}/latest/tags", lost).code == 42201
    assert registry.post(f"/subjects/{subject}/versions/77/tags", lost).code == 40402
    assert "schemaTags" not in registry.get(f"{path}/latest?findTags=X").body


def test_modes_of_everything_give_way_to_a_subjects_own(bootstrap: str) -> None:
    """READONLY_OVERRIDE too: its name promises more than Confluent's registry does."""
    with Registry(bootstrap, name="modes") as registry:
        assert registry.register("open", A).status == 200
        assert registry.register("other", A).status == 200
        registry.put("/mode/open", {"mode": "READWRITE"})
        for mode in ("READONLY", "READONLY_OVERRIDE"):
            assert registry.put("/mode", {"mode": mode}).body == {"mode": mode}
            assert registry.register("other", A_LONG).code == 42205
            assert registry.delete("/subjects/other").code == 42205
            assert registry.get("/subjects/other/versions").body == [1], "reads go on"
            assert registry.register("open", A_LONG).status == 200, "it has a mode of its own"
        assert registry.put("/mode", {"mode": "READWRITE"}).status == 200
        assert registry.put("/mode", {"mode": "IMPORT"}).code == 42205, "there are subjects"
        registry.delete("/mode")
        assert registry.put("/mode", {"mode": "FORWARD"}).code == 42204, "not of this context alone"
        forward = {"mode": "FORWARD"}
        assert registry.put("/mode/:.__GLOBAL:", forward).body == forward
        given = registry.register("new", A, id=77, version=4)
        assert (given.body["id"], given.body["version"]) == (77, 4), "as another registry has it"
