"""What the simulated operator may be told, and what breaks a run: on values, without a cluster."""

from typing import NoReturn

import pytest

from ottla.ids import TopicPartition
from ottla.metadata.image import Acl, Image
from ottla.simulation.cluster.access import AccessFacts, Thing, asked_for
from ottla.simulation.engine.violation import Violation
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.wire.messages.create_acls import AclCreation, CreateAclsRequest
from ottla.wire.messages.create_topics import CreateTopicsRequest
from ottla.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

RULE = Thing("rule", "n1")
USER = Thing("user", "n1")


class Told:
    def tell(self, line: str) -> None:
        pass

    def violated(self, what: str) -> NoReturn:
        raise Violation(what)

    def elected(self, node_id: int) -> None:
        pass

    def acknowledged_at(self, where: TopicPartition) -> None:
        pass


@pytest.fixture
def facts() -> AccessFacts:
    """A rule was made in epoch 2, and the operator knows it."""
    facts = AccessFacts(Told())
    facts.was_decided(RULE, makes=True, epoch=2)
    facts.was_told(RULE, there=True)
    return facts


def with_the_rule() -> Image:
    image = Image()
    image.acls[bytes(16)] = Acl(2, RULE.name, 3, "User:somebody", "*", 3, 3)
    return image


def test_a_deletion_that_finds_nothing_breaks_a_run(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=False, epoch=2)
    with pytest.raises(Violation, match="rule n1 was acknowledged, and its deletion found nothing"):
        facts.was_not_found(RULE)


def test_the_second_attempt_of_a_deletion_may_find_nothing(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=False, epoch=2)  # and its answer is lost
    facts.was_decided(RULE, makes=False, epoch=3)
    facts.was_not_found(RULE)
    assert RULE not in facts.told


def test_a_deposed_controller_may_not_find_what_its_successor_made(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=False, epoch=1)
    facts.was_not_found(RULE)
    assert RULE not in facts.told


def test_a_successor_must_find_what_was_made_before_it(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=False, epoch=3)
    with pytest.raises(Violation, match="its deletion found nothing"):
        facts.was_not_found(RULE)


def test_what_was_acknowledged_is_on_every_node(facts: AccessFacts) -> None:
    with pytest.raises(Violation, match="rule n1 was acknowledged, and node 2 lacks it"):
        facts.at_the_end({1: with_the_rule(), 2: Image()})


def test_what_was_deleted_is_on_no_node(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=True, epoch=2)  # a second attempt, but before the deletion
    facts.was_decided(RULE, makes=False, epoch=2)
    facts.was_told(RULE, there=False)
    facts.at_the_end({1: Image(), 2: Image()})
    with pytest.raises(Violation, match="rule n1 was deleted, and node 2 has it"):
        facts.at_the_end({1: Image(), 2: with_the_rule()})


def test_a_deposed_controller_cannot_make_it_again(facts: AccessFacts) -> None:
    facts.was_decided(RULE, makes=False, epoch=2)
    facts.was_told(RULE, there=False)
    facts.was_decided(RULE, makes=True, epoch=1)
    with pytest.raises(Violation, match="rule n1 was deleted, and node 1 has it"):
        facts.at_the_end({1: with_the_rule()})


@pytest.mark.parametrize("epoch", [2, 3])
def test_an_attempt_that_comes_after_the_deletion_makes_it_again(
    facts: AccessFacts, epoch: int
) -> None:
    facts.was_decided(RULE, makes=False, epoch=2)
    facts.was_told(RULE, there=False)
    facts.was_decided(RULE, makes=True, epoch=epoch)
    facts.at_the_end({1: with_the_rule()})


def test_requests_of_the_operator_are_known_by_what_they_are_about() -> None:
    creation, deletion = AclCreation(resource_name="n1"), DeleteAclsFilter()
    deletion.resource_name_filter = "n1"
    assert asked_for(CreateAclsRequest(creations=[creation])) == (RULE, True)
    assert asked_for(DeleteAclsRequest(filters=[deletion])) == (RULE, False)
    for made, gone in ((True, False), (False, True)):
        request = AlterUserScramCredentialsRequest(
            upsertions=[ScramCredentialUpsertion(name="n1")] if made else [],
            deletions=[ScramCredentialDeletion(name="n1")] if gone else [],
        )
        assert asked_for(request) == (USER, made)
    assert asked_for(CreateTopicsRequest()) is None
