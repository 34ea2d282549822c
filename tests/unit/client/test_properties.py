"""Client properties: Java's names become librdkafka's and back, and nothing is dropped."""

from collections.abc import Mapping

import pytest

from ottla.client.properties import Property, to_java, to_librdkafka
from ottla.errors import OttlaError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
LOGIN_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
BY_PROVIDER = {
    "sasl.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.token.endpoint.url": "https://login/token",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": 's"1',
    "sasl.oauthbearer.scope": "kafka all",
}


def kept(pairs: Mapping[str, str]) -> dict[str, str]:
    numbered = enumerate(pairs.items(), 1)
    return to_librdkafka(
        Property(*pair, f"client.properties, line {line}") for line, pair in numbered
    )


def refused(pairs: Mapping[str, str]) -> str:
    with pytest.raises(OttlaError) as caught:
        kept(pairs)
    return str(caught.value)


def not_read(path: str) -> str:
    raise AssertionError(path)


def test_names_that_both_libraries_share_stay() -> None:
    pairs = {"security.protocol": "SASL_SSL", "linger.ms": "5", "client.rack": "a"}
    assert kept(pairs) == pairs


def test_a_file_for_java_with_user_and_password_is_understood() -> None:
    assert kept(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM} required\n username="ann" password="a\\"b;c\\\\d";',
        }
    ) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": 'a"b;c\\d',
    }


@pytest.mark.parametrize(
    "line",
    [f"{PLAIN} required username=ann password=secret;"] * 1
    + [
        f"{PLAIN} required username='ann' password='secret' ;",
        f'  {PLAIN} sufficient serviceName="x" username="ann" password="secret";',
    ],
)
def test_java_s_login_line_may_be_written_in_several_ways(line: str) -> None:
    login = {"sasl.username": "ann", "sasl.password": "secret"}
    assert kept({"sasl.jaas.config": line}) == login


@pytest.mark.parametrize(
    "line",
    [
        "com.sun.security.auth.module.Krb5LoginModule required;",
        f"{PLAIN} required;",
        "nonsense",
        "",
    ],
)
def test_a_login_that_cannot_be_understood_is_refused_without_its_secrets(line: str) -> None:
    sentence = refused({"client.id": "a", "sasl.jaas.config": f'{line} password="secret"'})
    assert sentence.startswith("client.properties, line 2: sasl.jaas.config ")
    assert "secret" not in sentence


def test_certificates_in_pem_are_understood_in_files_and_in_place() -> None:
    files = {
        "ssl.truststore.location": "/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.type": "pem",
        "ssl.keystore.location": "/me.pem",
        "ssl.key.password": "k",
    }
    assert kept(files) == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "/me.pem",
        "ssl.key.password": "k",
    }
    in_place = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.certificate.chain": "ME",
        "ssl.keystore.key": "KEY",
    }
    assert kept(in_place) == {
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "ME",
        "ssl.key.pem": "KEY",
    }


def test_stores_that_only_java_reads_are_refused() -> None:
    trust = refused({"ssl.truststore.location": "/ca.jks"})
    assert "line 1: ssl.truststore.location" in trust
    assert "ssl.truststore.type=PEM" in trust
    keys = {"ssl.keystore.type": "JKS", "ssl.keystore.location": "/me.jks"}
    assert "line 1: ssl.keystore.type" in refused(keys)
    assert kept({"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"}) == {
        "ssl.keystore.location": "/me.p12",
        "ssl.keystore.password": "p",
    }


def test_what_only_java_s_clients_have_is_refused() -> None:
    sentence = refused({"client.id": "a", "max.poll.records": "5"})
    assert sentence.startswith("client.properties, line 2: max.poll.records is for Java's clients")


def test_the_name_of_a_host_need_not_be_checked_in_either_spelling() -> None:
    algorithm = "ssl.endpoint.identification.algorithm"
    assert kept({algorithm: ""}) == {algorithm: "none"}
    assert to_java({algorithm: "none"}, not_read) == {algorithm: ""}


def test_of_two_that_say_the_same_the_later_counts() -> None:
    login = f"{PLAIN} required username=ann password=old;"
    assert kept({"sasl.jaas.config": login, "sasl.password": "new"}) == {
        "sasl.username": "ann",
        "sasl.password": "new",
    }
    assert kept({"sasl.mechanisms": "PLAIN", "sasl.mechanism": "SCRAM-SHA-256"}) == {
        "sasl.mechanisms": "SCRAM-SHA-256"
    }


def test_user_and_password_reach_java_s_clients() -> None:
    told = to_java(
        {"sasl.mechanisms": "PLAIN", "sasl.username": "ann", "sasl.password": 'a"b\\'}, not_read
    )
    assert told == {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="ann" password="a\\"b\\\\";',
    }
    assert kept(told)["sasl.password"] == 'a"b\\'
    with pytest.raises(OttlaError, match=r"needs sasl.mechanism=PLAIN"):
        to_java({"sasl.username": "ann"}, not_read)


def test_certificates_reach_java_s_clients() -> None:
    ours = {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me",
        "ssl.key.location": "/k",
    }
    assert to_java(ours, lambda path: f"text of {path}") == {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "text of /me",
        "ssl.keystore.key": "text of /k",
    }
    same = {"ssl.certificate.location": "/both", "ssl.key.location": "/both"}
    assert to_java(same, not_read) == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/both",
    }
    packed = {"ssl.keystore.location": "/me.p12"}
    assert to_java(packed, not_read) == packed | {"ssl.keystore.type": "PKCS12"}


@pytest.mark.parametrize(
    "name",
    ["enable.ssl.certificate.verification", "ssl.crl.location", "sasl.oauthbearer.config"],
)
def test_protection_that_java_s_clients_would_not_have_is_refused(name: str) -> None:
    with pytest.raises(OttlaError, match=f"{name} is for librdkafka alone"):
        to_java({name: "x"}, not_read)


def test_a_provider_s_account_is_understood_as_java_s_files_have_it() -> None:
    common = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": LOGIN_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": "https://login/token",
    }
    line = f'{OAUTH} required clientId="me" clientSecret="s\\"1" scope="kafka all";'
    assert kept(common | {"sasl.jaas.config": line}) == BY_PROVIDER
    named = {
        "sasl.jaas.config": f"{OAUTH} required;",
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": 's"1',
        "sasl.oauthbearer.scope": "kafka all",
    }
    assert kept(common | named) == BY_PROVIDER


def test_a_provider_s_account_reaches_java_s_clients_and_comes_back() -> None:
    more = BY_PROVIDER | {
        "https.ca.pem": "-----BEGIN\nAB\n",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc,pool=p",
    }
    told = to_java(more, not_read)
    assert told == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": LOGIN_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": "https://login/token",
        "sasl.jaas.config": (
            f'{OAUTH} required clientId="me" clientSecret="s\\"1" scope="kafka all" '
            'ssl.truststore.certificates="-----BEGIN\\nAB\\n" ssl.truststore.type="PEM" '
            'extension_logicalCluster="lkc" extension_pool="p";'
        ),
    }
    assert kept(told) == more


@pytest.mark.parametrize(
    "options",
    [
        'unsecuredLoginStringClaim_sub="x"',
        'ssl.truststore.location="/ca.jks"',
        'ssl.keystore.location="/me.p12"',
    ],
)
def test_what_librdkafka_cannot_be_told_of_a_provider_is_refused(options: str) -> None:
    sentence = refused({"sasl.jaas.config": f"{OAUTH} required {options};"})
    assert sentence.startswith("client.properties, line 1: sasl.jaas.config ")


def test_other_classes_of_a_login_are_refused() -> None:
    assert "is for Java's clients alone" in refused({"sasl.login.callback.handler.class": "my.Own"})


@pytest.mark.parametrize("name", ["sasl.oauthbearer.method", "sasl.oauthbearer.client.secret"])
def test_a_provider_s_account_must_be_whole(name: str) -> None:
    lacking = {key: value for key, value in BY_PROVIDER.items() if key != name}
    with pytest.raises(OttlaError, match=f"OAUTHBEARER needs {name}"):
        to_java(lacking, not_read)


KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


def test_a_keytab_is_understood_as_java_s_files_have_it() -> None:
    line = f'{KRB5} required useKeyTab=true storeKey=true keyTab="/me.keytab" principal="me@X";'
    said = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": line,
    }
    understood = kept(said)
    assert understood["sasl.kerberos.keytab"] == "/me.keytab"
    assert understood["sasl.kerberos.principal"] == "me@X"
    assert to_java(understood, not_read) == said


def test_tickets_of_kinit_are_meant_where_there_is_no_keytab() -> None:
    line = f'{KRB5} required useTicketCache=true serviceName="broker";'
    said = kept({"security.protocol": "SASL_SSL", "sasl.jaas.config": line})
    assert said == {"security.protocol": "SASL_SSL", "sasl.kerberos.service.name": "broker"}
    told = to_java(said, not_read)
    assert told["sasl.jaas.config"] == f"{KRB5} required useTicketCache=true doNotPrompt=true;"
    assert told["sasl.kerberos.service.name"] == "broker"


@pytest.mark.parametrize(
    "options", ["useKeyTab=true", "keyTab=/me.keytab", "useTicketCache=true tryFirstPass=true"]
)
def test_a_line_of_kerberos_that_cannot_be_honoured_is_refused(options: str) -> None:
    sentence = refused({"sasl.jaas.config": f"{KRB5} required {options};"})
    assert sentence.startswith("client.properties, line 1: sasl.jaas.config ")
