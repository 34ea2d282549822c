"""Client properties as files to use or paste: one user at one secured cluster, for each client.

Pure texts. Java's holds the authority's certificate itself; librdkafka, aiokafka and franz-go are
told where it lies. Passwords are made here of letters that need no quotes, but one that a person
chose is quoted, too.
"""

import json
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from ottla.client.properties import to_java
from ottla.config.properties import render_properties
from ottla.errors import OttlaError

MECHANISM = "SCRAM-SHA-512"
JAVA, LIBRDKAFKA, AIOKAFKA, FRANZ_GO = (
    "java.properties",
    "librdkafka.conf",
    "aiokafka_options.py",
    "franz.go",
)
Kind = Literal["confluent", "java", "aiokafka"]


class Account(NamedTuple):
    """Who comes, where to, and by which certificate the cluster is known."""

    bootstrap: str
    user: str
    password: str
    authority: str  # its path
    certificate: str  # the authority's, in PEM

    def __repr__(self) -> str:
        return f"Account(bootstrap={self.bootstrap!r}, user={self.user!r})"


def files(account: Account) -> Mapping[str, str]:
    """Name and text of each."""
    makers: dict[str, Callable[[Account], str]] = {
        JAVA: java_file,
        LIBRDKAFKA: librdkafka_file,
        AIOKAFKA: aiokafka_file,
        FRANZ_GO: franz_go_file,
    }
    return {name: make(account) for name, make in makers.items()}


def client_config(account: Account, kind: Kind) -> dict[str, object]:
    """What such a client is made with: a dictionary to hand over as it is."""
    match kind:
        case "confluent":
            return dict(librdkafka(account))
        case "java":
            return dict(java(account))
        case "aiokafka":
            return aiokafka(account)
    raise OttlaError(f"for_={kind!r}: one of confluent, java, aiokafka is expected.")


def librdkafka(account: Account) -> dict[str, str]:
    return {
        "bootstrap.servers": account.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.username": account.user,
        "sasl.password": account.password,
        "ssl.ca.location": account.authority,
    }


def java(account: Account) -> dict[str, str]:
    told = librdkafka(account)
    del told["ssl.ca.location"]
    told["sasl.mechanisms"] = told.pop("sasl.mechanism")
    told["ssl.ca.pem"] = account.certificate
    return to_java(told, lambda path: path)


def aiokafka(account: Account) -> dict[str, object]:
    """The context is Python's own, so that it is made only here."""
    from ssl import create_default_context

    return {
        "bootstrap_servers": account.bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": account.user,
        "sasl_plain_password": account.password,
        "ssl_context": create_default_context(cafile=account.authority),
    }


def java_file(account: Account) -> str:
    about = f"{account.user} for Java's clients: --command-config, --producer.config, …"
    return render_properties(java(account), about=about)


def librdkafka_file(account: Account) -> str:
    about = f"{account.user} for librdkafka: kcat -F, confluent-kafka, ottla --command-config"
    return f"# {about}\n" + "".join(f"{n}={v}\n" for n, v in librdkafka(account).items())


def aiokafka_file(account: Account) -> str:
    return f'''"""{account.user} for aiokafka: AIOKafkaProducer(**OPTIONS)."""

from aiokafka.helpers import create_ssl_context

OPTIONS = {{
    "bootstrap_servers": {account.bootstrap!r},
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": {MECHANISM!r},
    "sasl_plain_username": {account.user!r},
    "sasl_plain_password": {account.password!r},
    "ssl_context": create_ssl_context(cafile={account.authority!r}),
}}
'''


def franz_go_file(account: Account) -> str:
    servers = ", ".join(map(json.dumps, account.bootstrap.split(",")))
    user, password, authority = map(json.dumps, (account.user, account.password, account.authority))
    return f"""// {account.user} for franz-go: kgo.NewClient(Options()...)
package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func Options() []kgo.Opt {{
	pem, err := os.ReadFile({authority})
	if err != nil {{
		panic(err)
	}}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	login := scram.Auth{{User: {user}, Pass: {password}}}
	return []kgo.Opt{{
		kgo.SeedBrokers({servers}),
		kgo.DialTLSConfig(&tls.Config{{RootCAs: authorities}}),
		kgo.SASL(login.AsSha512Mechanism()),
	}}
}}
"""
