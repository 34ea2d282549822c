"""Clients as they are, with a name and a password: let in, kept out, and told why."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaProducer
from kafka.errors import TopicAuthorizationFailedError

from support import certificates
from support.brokers import Kind
from support.secured import GROUP, READ, SHA_512, TOPIC, WRITE, Secured, running_secured

SECONDS = 20


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


def settings(
    secured: Secured, user: str, password: str = "secret", mechanism: str = "SCRAM-SHA-256"
) -> dict[str, Any]:
    return {
        "bootstrap.servers": secured.address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def sent(producer: Producer, topic: str, value: str) -> KafkaError | None:
    """Why a record was refused."""
    errors: list[KafkaError | None] = []
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    return errors[0]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_librdkafka_writes_and_reads_what_it_may(secured: Secured, mechanism: str) -> None:
    name = f"work-{mechanism.lower()}"
    user, password = ("pia", "plain secret") if mechanism == "PLAIN" else (f"u-{name}", "secret")
    if mechanism == "SCRAM-SHA-256":
        secured.add_user(user, password)
    elif mechanism == "SCRAM-SHA-512":
        secured.add_user(user, password, SHA_512)
    secured.create(name)
    secured.allow(user, (TOPIC, name, READ), (TOPIC, name, WRITE), (GROUP, name, READ))
    config = settings(secured, user, password, mechanism)
    assert sent(Producer({**config, "enable.idempotence": True}), name, "hello") is None
    consumer = Consumer({**config, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    message = consumer.poll(SECONDS)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"hello")
    consumer.commit(asynchronous=False)
    consumer.close()


def test_librdkafka_is_told_what_it_may_not(secured: Secured) -> None:
    secured.create("closed")
    config = settings(secured, "alice")
    error = sent(Producer({**config, "message.timeout.ms": 10_000}), "closed", "no")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = Consumer({**config, "group.id": "closed"})
    consumer.subscribe(["closed"])
    message = consumer.poll(SECONDS)
    assert message is not None
    error = message.error()
    assert error is not None
    assert error.code() in (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    )
    consumer.close()


def test_librdkafka_is_told_that_its_password_is_wrong(secured: Secured) -> None:
    errors: list[KafkaError] = []
    config = settings(secured, "alice", "wrong")
    config["error_cb"] = errors.append
    client = AdminClient(config)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=3)
    client.poll(1)
    assert KafkaError._AUTHENTICATION in {error.code() for error in errors}


def test_kafka_python_comes_in_and_is_kept_out(secured: Secured) -> None:
    secured.create("python")
    secured.create("nopython")
    secured.add_user("guido", "secret")
    secured.allow("guido", (TOPIC, "python", WRITE))
    producer = KafkaProducer(
        bootstrap_servers=secured.address,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username="guido",
        sasl_plain_password="secret",
        enable_idempotence=False,
    )
    try:
        assert producer.send("python", b"x").get(SECONDS).offset == 0
        with pytest.raises(TopicAuthorizationFailedError):
            producer.send("nopython", b"x").get(SECONDS)
    finally:
        producer.close(timeout=5)


def test_an_admin_client_adds_users_and_rules(secured: Secured) -> None:
    admin = AdminClient(settings(secured, "root"))
    information = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    change = UserScramCredentialUpsertion("eve", information, b"apple")
    admin.alter_user_scram_credentials([change])["eve"].result(SECONDS)
    described: Any = admin.describe_user_scram_credentials(["eve"])
    told = described["eve"].result(SECONDS)
    assert [one.iterations for one in told.scram_credential_infos] == [8192]
    binding = AclBinding(
        ResourceType.TOPIC,
        "garden",
        ResourcePatternType.LITERAL,
        "User:eve",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin.create_acls([binding])[binding].result(SECONDS)
    secured.create("garden")
    assert sent(Producer(settings(secured, "eve", "apple")), "garden", "fruit") is None
    nothing: Any = None  # leaves a field open
    every = AclBindingFilter(
        ResourceType.ANY,
        nothing,
        ResourcePatternType.ANY,
        "User:eve",
        nothing,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert admin.describe_acls(every).result(SECONDS) == [binding]
    assert admin.delete_acls([every])[every].result(SECONDS) == [binding]
    error = sent(Producer(settings(secured, "eve", "apple")), "garden", "more")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


# TLS ------------------------------------------------------------------------------------------


def encrypted(secured: Secured, user: str) -> dict[str, Any]:
    return {
        **settings(secured, user),
        "bootstrap.servers": secured.encrypted,
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": secured.authority.certificate_pem,
    }


def by_certificate(secured: Secured, name: str, organization: str) -> dict[str, Any]:
    own = certificates.issue(secured.authority, name, organization=organization)
    return {
        "bootstrap.servers": secured.mutual,
        "security.protocol": "SSL",
        "ssl.ca.pem": secured.authority.certificate_pem,
        "ssl.certificate.pem": own.certificate_pem,
        "ssl.key.pem": own.key_pem(),
    }


def test_large_records_come_through_tls_unchanged(secured: Secured) -> None:
    secured.create("sealed")
    secured.add_user("tess", "secret")
    secured.allow("tess", (TOPIC, "sealed", READ), (TOPIC, "sealed", WRITE), (GROUP, "*", READ))
    config = encrypted(secured, "tess")
    values = [bytes([n]) * 900_000 for n in range(12)]
    producer = Producer({**config, "linger.ms": 0})
    for value in values:
        producer.produce("sealed", value)
    assert producer.flush(SECONDS) == 0
    consumer = Consumer({**config, "group.id": "sealed", "auto.offset.reset": "earliest"})
    consumer.subscribe(["sealed"])
    read = [message.value() for message in consumer.consume(len(values), SECONDS)]
    consumer.close()
    assert read == values


def test_a_certificate_says_who_comes(secured: Secured) -> None:
    secured.create("by-name")
    secured.allow("max", (TOPIC, "by-name", WRITE))
    secured.allow("CN=robot,O=machines", (TOPIC, "by-name", WRITE))
    for name, organization in (("Max", "people"), ("robot", "machines")):
        config = by_certificate(secured, name, organization)
        assert sent(Producer(config), "by-name", "hello") is None
    error = sent(Producer(by_certificate(secured, "Moritz", "people")), "by-name", "no")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_without_a_certificate_or_with_a_foreign_one_nobody_comes_in(secured: Secured) -> None:
    none: dict[str, Any] = {
        "bootstrap.servers": secured.mutual,
        "security.protocol": "SSL",
        "ssl.ca.pem": secured.authority.certificate_pem,
    }
    foreign = certificates.issue(certificates.authority("foreign"), "Max", organization="people")
    other = {**none, "ssl.certificate.pem": foreign.certificate_pem}
    other["ssl.key.pem"] = foreign.key_pem()
    for config in (none, other):
        with pytest.raises(KafkaException):
            AdminClient(config).list_topics(timeout=3)
