"""What a registry keeps and hands out: schemas with references, metadata and rules; settings.

The field names are those of the JSON, in the REST interface and in the topic alike. What is empty
is left out there. Metadata and tags are sorted, so that the same content has the same hash.
"""

import hashlib
import re
from base64 import b64decode
from enum import StrEnum

import msgspec
from msgspec import Struct

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"
CONFLUENT_VERSION = "confluent:version"
RULE_NAME_MAX = 256


class Mode(StrEnum):
    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def brings_ids(self) -> bool:
        """Whoever registers says the id: schemas come from another registry."""
        return self in (Mode.IMPORT, Mode.FORWARD)

    @property
    def read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)


class RuleKind(StrEnum):
    TRANSFORM = "TRANSFORM"
    CONDITION = "CONDITION"


class RuleMode(StrEnum):
    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    UPDOWN = "UPDOWN"
    WRITE = "WRITE"
    READ = "READ"
    WRITEREAD = "WRITEREAD"


MIGRATION_MODES = (RuleMode.UPGRADE, RuleMode.DOWNGRADE, RuleMode.UPDOWN)
TWO_WAY_MODES = (RuleMode.WRITEREAD, RuleMode.UPDOWN)


class RuleFault(ValueError):
    """Why a rule set is none."""


class Reference(Struct, frozen=True, omit_defaults=True, order=True):
    name: str | None = None
    subject: str | None = None
    version: int | None = None

    def hashed(self) -> bytes:
        number = b"" if self.version is None else self.version.to_bytes(4, "big", signed=True)
        return (self.name or "").encode() + (self.subject or "").encode() + number


class Metadata(Struct, frozen=True, omit_defaults=True):
    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        tags = {name: sorted(set(held)) for name, held in sorted((self.tags or {}).items())}
        put(self, "tags", tags or None)
        put(self, "properties", dict(sorted((self.properties or {}).items())) or None)
        put(self, "sensitive", sorted(set(self.sensitive or ())) or None)

    @property
    def version(self) -> str | None:
        """Which version of its subject a schema says it is."""
        return (self.properties or {}).get(CONFLUENT_VERSION)

    def with_version(self, version: int) -> "Metadata":
        properties = {**(self.properties or {}), CONFLUENT_VERSION: str(version)}
        return msgspec.structs.replace(self, properties=properties)

    def without_version(self) -> "Metadata":
        properties = dict(self.properties or {})
        properties.pop(CONFLUENT_VERSION, None)
        return msgspec.structs.replace(self, properties=properties)

    def hashed(self) -> bytes:
        parts = []
        for name, held in (self.tags or {}).items():
            parts += [name, *held]
        for name, value in (self.properties or {}).items():
            parts += [name, value]
        parts += self.sensitive or ()
        return "".join(parts).encode()


class Rule(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"on_success": "onSuccess", "on_failure": "onFailure"},
):
    name: str | None = None
    doc: str | None = None
    kind: RuleKind | None = None
    mode: RuleMode | None = None
    type: str | None = None
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        put(self, "kind", self.kind or RuleKind.TRANSFORM)
        put(self, "mode", self.mode or RuleMode.WRITEREAD)
        put(self, "tags", sorted(set(self.tags or ())) or None)
        put(self, "params", dict(sorted((self.params or {}).items())) or None)
        put(self, "disabled", bool(self.disabled))

    def check(self) -> None:
        """RuleFault for what no client could run."""
        if self.name is None:
            raise RuleFault("Missing rule name")
        if not self.name:
            raise RuleFault("Empty rule name")
        if len(self.name) > RULE_NAME_MAX:
            raise RuleFault("Rule name too long")
        if not (self.name[0].isalpha() or self.name[0] == "_"):
            raise RuleFault(f"Illegal initial character in rule name: {self.name}")
        if not re.fullmatch(r"[\w-]*", self.name[1:]):
            raise RuleFault(f"Illegal character in rule name: {self.name}")
        if self.type is None:
            raise RuleFault("Missing rule type")
        for action in (self.on_success, self.on_failure):
            if self.mode not in TWO_WAY_MODES and "," in (action or ""):
                raise RuleFault("Multiple actions only valid with WRITEREAD and UPDOWN")

    def hashed(self) -> bytes:
        parts = [self.name, self.doc, self.kind, self.mode, self.type, *(self.tags or ())]
        for name, value in (self.params or {}).items():
            parts += [name, value]
        parts += [self.expr, self.on_success, self.on_failure]
        return "".join(part or "" for part in parts).encode() + (b"\1" if self.disabled else b"")


class RuleSet(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={
        "migration_rules": "migrationRules",
        "domain_rules": "domainRules",
        "encoding_rules": "encodingRules",
        "enable_at": "enableAt",
    },
):
    migration_rules: list[Rule] | None = None
    domain_rules: list[Rule] | None = None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        for name in ("migration_rules", "domain_rules", "encoding_rules"):
            put(self, name, getattr(self, name) or None)

    def phases(self) -> tuple[list[Rule], list[Rule], list[Rule]]:
        return self.migration_rules or [], self.domain_rules or [], self.encoding_rules or []

    def check(self) -> None:
        """RuleFault for a name that comes twice, and for a rule in a phase that it is not for."""
        names: set[str | None] = set()
        for phase, rules in zip(("Migration", "Domain", "Encoding"), self.phases(), strict=True):
            for rule in rules:
                if rule.name in names:
                    raise RuleFault(f"Found rule with duplicate name '{rule.name}'")
                names.add(rule.name)
                rule.check()
                migrates = rule.mode in MIGRATION_MODES
                if phase == "Migration" and not migrates:
                    raise RuleFault("Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN")
                if phase != "Migration" and migrates:
                    raise RuleFault(f"{phase} rules can only be WRITE, READ, WRITEREAD")

    def has_type(self, kind: str) -> bool:
        return any(rule.type == kind for rules in self.phases() for rule in rules)

    def without(self, names: list[str]) -> "RuleSet":
        kept = [[rule for rule in rules if rule.name not in names] for rules in self.phases()]
        return RuleSet(kept[0], kept[1], kept[2], self.enable_at)

    def hashed(self) -> bytes:
        rules = b"".join(rule.hashed() for rules in self.phases() for rule in rules)
        return rules + (self.enable_at or "").encode()


class Schema(Struct, frozen=True):
    """One version of a subject, as it is kept."""

    subject: str
    version: int
    id: int
    text: str
    kind: str = AVRO
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rules: RuleSet | None = None
    deleted: bool = False
    md5: str | None = None  # in base 64; only where the record carries one
    timestamp: int | None = None

    @property
    def digest(self) -> bytes:
        """What makes two schemas the same one: they share an id."""
        if self.md5 is not None:
            return b64decode(self.md5)
        return digest_of(self.text, self.references, self.metadata, self.rules)


def digest_of(
    text: str,
    references: tuple[Reference, ...],
    metadata: Metadata | None,
    rules: RuleSet | None,
) -> bytes:
    md5 = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in references:
        md5.update(reference.hashed())
    if metadata is not None:
        md5.update(b"\1" + metadata.hashed())  # an empty one is not the same as none
    if rules is not None:
        md5.update(b"\1" + rules.hashed())
    return md5.digest()


def guid_of(digest: bytes) -> str:
    """The digest, written as a UUID."""
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def merged_metadata(older: Metadata | None, newer: Metadata | None) -> Metadata | None:
    if older is None or newer is None:
        return newer if older is None else older
    return Metadata(
        {**(older.tags or {}), **(newer.tags or {})},
        {**(older.properties or {}), **(newer.properties or {})},
        [*(older.sensitive or ()), *(newer.sensitive or ())],
    )


def merged_rules(older: RuleSet | None, newer: RuleSet | None) -> RuleSet | None:
    if older is None or newer is None:
        return newer if older is None else older
    phases = [
        _merged(before, after) for before, after in zip(older.phases(), newer.phases(), strict=True)
    ]
    return RuleSet(phases[0], phases[1], phases[2], newer.enable_at or older.enable_at)


def _merged(older: list[Rule], newer: list[Rule]) -> list[Rule]:
    """A new rule takes the place of the old one of its name."""
    names = {rule.name for rule in newer}
    return [*(rule for rule in older if rule.name not in names), *newer]


class Config(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={
        "alias_for_deks": "aliasForDeks",
        "validate_fields": "validateFields",
        "validate_new_schemas": "validateNewSchemas",
        "validate_rules": "validateRules",
        "level": "compatibilityLevel",
        "policy": "compatibilityPolicy",
        "group": "compatibilityGroup",
        "default_metadata": "defaultMetadata",
        "override_metadata": "overrideMetadata",
        "default_rules": "defaultRuleSet",
        "override_rules": "overrideRuleSet",
    },
):
    """What holds for a subject, a context, or everywhere."""

    alias: str | None = None
    alias_for_deks: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    level: str | None = None
    policy: str | None = None
    group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rules: RuleSet | None = None
    override_rules: RuleSet | None = None

    @property
    def adds_something(self) -> bool:
        """Whether a schema gets more than whoever registers it has said."""
        return any(
            one is not None
            for one in (
                self.default_metadata,
                self.override_metadata,
                self.default_rules,
                self.override_rules,
            )
        )

    def over(self, wider: "Config") -> "Config":
        """This one of a subject; what it leaves open, the wider one says."""
        inherited = (
            "normalize",
            "validate_fields",
            "validate_new_schemas",
            "validate_rules",
            "policy",
            "group",
        )
        return msgspec.structs.replace(
            self,
            **{name: getattr(wider, name) for name in inherited if getattr(self, name) is None},
        )
