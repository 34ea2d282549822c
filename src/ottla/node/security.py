"""What a node's options say about who may come in and what they may do, put together."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ottla.broker.access import Access, ByRules, Unrestricted
from ottla.broker.audit import AuditTrail
from ottla.broker.background import Background
from ottla.config import Settings
from ottla.config.topology import Listener
from ottla.errors import OttlaError
from ottla.metadata.image import Image, ScramCredential
from ottla.metadata.publisher import Publisher
from ottla.node.certificates import Certificates
from ottla.ports.chance import Chance
from ottla.ports.clock import Clock
from ottla.ports.network import Network, TcpNetwork

if TYPE_CHECKING:
    from ottla.broker.transport.authentication import Authentication
    from ottla.security.exchange import Exchange
    from ottla.security.listener_options import SaslOptions
    from ottla.security.sasl import SaslListener
    from ottla.security.tokens import TokenCredentials

PLAINTEXT, SASL, TLS = "PLAINTEXT", "SASL_", "SSL"
BROKERS_MECHANISM = "sasl.mechanism.inter.broker.protocol"
CONTROLLERS_MECHANISM = "sasl.mechanism.controller.protocol"
ENCRYPTED_DISKS = "ottla.require.encrypted.log.dirs"


def access_of(
    settings: Settings, publisher: Publisher, is_ready: Callable[[], bool], audit: AuditTrail
) -> Access:
    """By the rules of the metadata, whenever they change, if the file names Kafka's authorizer.
    Until it is ready, nobody but super users may do anything."""
    if not settings.text("authorizer.class.name"):
        return Unrestricted()
    from ottla.security.listener_options import authorizer_rules

    rules = authorizer_rules(settings)
    assert rules is not None
    access = ByRules(rules, is_ready, audit)
    access.load(publisher.image)
    publisher.subscribe(access.image_changed)
    return access


def authentication_of(
    listener: Listener,
    settings: Settings,
    publisher: Publisher,
    clock: Clock,
    chance: Chance,
    background: Background,
    audit: AuditTrail,
) -> "Callable[[], Authentication] | None":
    """How connections of a listener authenticate; None: they need not."""
    if not listener.protocol.startswith(SASL):
        return None
    from ottla.broker.transport.authentication import Authentication
    from ottla.security.listener_options import read_sasl
    from ottla.security.tokens import TokenCredentials, TokenSecret

    options = read_sasl(settings, listener.name)
    tokens = TokenCredentials(
        TokenSecret(settings.text("delegation.token.secret.key")),
        lambda: publisher.image,
        clock.wall_ms,
    )
    more = {
        "OAUTHBEARER": _bearers(options, clock, background),
        "GSSAPI": _principals(options),
    }
    offered = _offered(options, publisher, tokens, chance, more)

    def authenticate() -> "Authentication":
        return Authentication(
            offered,
            clock.monotonic,
            clock.wall_ms,
            background.in_thread,
            refusal_delay_s=options.refusal_delay_s,
            frame_bytes_max=options.frame_bytes_max,
            audit=audit,
        )

    return authenticate


def _bearers(
    options: "SaslOptions", clock: Clock, background: Background
) -> "Callable[[], Exchange] | None":
    """Exchanges of OAUTHBEARER, by the keys of the listener's provider."""
    if options.oauth is None:
        return None
    from ottla.security.key_sets import KeySet
    from ottla.security.oauthbearer import OAuthServer

    rules, source = options.oauth
    keys = KeySet(source, clock.wall_ms)
    background.spawn(keys.keep_fresh())
    return lambda: OAuthServer(lambda token: keys.check(token, rules))


def _principals(options: "SaslOptions") -> "Callable[[], Exchange] | None":
    """Exchanges of GSSAPI, by the keys of the listener's own principal."""
    if options.kerberos is None:
        return None
    from ottla.security.gss_exchange import GssServer
    from ottla.security.kerberos import KerberosAcceptor, acceptor_credentials

    account, rules = options.kerberos
    credentials = acceptor_credentials(account)
    return lambda: GssServer(lambda: KerberosAcceptor(credentials), rules.user)


def _offered(
    options: "SaslOptions",
    publisher: Publisher,
    tokens: "TokenCredentials",
    chance: Chance,
    foreign: "Mapping[str, Callable[[], Exchange] | None]",
) -> "SaslListener":
    """`foreign` are the mechanisms whose users somebody else knows."""
    from ottla.security import scram
    from ottla.security.listener_options import PLAIN
    from ottla.security.plain import PlainServer
    from ottla.security.sasl import SaslListener

    def keys(mechanism: scram.Mechanism, name: str) -> ScramCredential | None:
        return publisher.image.scram_credentials.get((name, mechanism.number))

    def known(
        mechanism: scram.Mechanism,
    ) -> Callable[[str, bool], scram.KnownUser | scram.Derivation | None]:
        def find(name: str, by_token: bool) -> scram.KnownUser | scram.Derivation | None:
            if by_token:
                return tokens.find(mechanism, name)
            found = keys(mechanism, name)
            return None if found is None else scram.KnownUser(found, name)

        return find

    def plain() -> "Exchange":
        return PlainServer(options.passwords, keys, secret=secret_of(publisher.image))

    def by_scram(mechanism: scram.Mechanism) -> "Callable[[], Exchange]":
        return lambda: scram.ScramServer(
            mechanism,
            known(mechanism),
            nonce=chance.randbytes(18).hex(),
            secret=secret_of(publisher.image),
        )

    offered: dict[str, Callable[[], Exchange]] = {}
    for name in options.mechanisms:
        if name in scram.MECHANISMS:
            offered[name] = by_scram(scram.MECHANISMS[name])
        elif name == PLAIN:
            offered[name] = plain
        else:
            exchange = foreign[name]
            assert exchange is not None
            offered[name] = exchange
    return SaslListener(offered, options.session_ms_max)


def secret_of(image: Image) -> bytes:
    """From which salts of users are derived that do not exist: the same on every node, known to
    nobody outside, and rarely another."""
    first = min(image.scram_credentials, default=None)
    return b"no users" if first is None else image.scram_credentials[first].server_key


def network_to_brokers(
    settings: Settings, network: Network, certificates: Certificates, chance: Chance
) -> Network:
    """How this node reaches other brokers."""
    listener = _inter_broker(settings)
    if listener is None:
        return network
    return _network_to(listener, BROKERS_MECHANISM, settings, network, certificates, chance)


def network_to_controllers(
    settings: Settings, network: Network, certificates: Certificates, chance: Chance
) -> Network:
    """How this node reaches controllers, as their first listener asks for it."""
    listener = _controllers(settings)
    return _network_to(listener, CONTROLLERS_MECHANISM, settings, network, certificates, chance)


def _network_to(
    listener: Listener,
    mechanism: str,
    settings: Settings,
    network: Network,
    certificates: Certificates,
    chance: Chance,
) -> Network:
    if listener.protocol == PLAINTEXT:
        return network
    if listener.protocol.endswith(TLS):
        network = TcpNetwork(encryption=certificates.of_links_to(listener))
    if listener.protocol.startswith(SASL):
        from ottla.security.links import AuthenticatedNetwork
        from ottla.security.listener_options import own_login

        login = own_login(settings, listener.name, mechanism)
        network = AuthenticatedNetwork(network, login, chance)
    from ottla.security.links import ComplainingNetwork

    return ComplainingNetwork(network, listener.name)


def check_options(settings: Settings, chance: Chance) -> None:
    """Whatever cannot be honoured is said before anything is opened."""
    _refuse_open_disks(settings)
    certificates = Certificates(lambda: settings, lambda: 0.0)
    network_to_brokers(settings, TcpNetwork(), certificates, chance)
    _refuse_unknowable_voters(settings)
    network_to_controllers(settings, TcpNetwork(), certificates, chance)
    if settings.text("authorizer.class.name"):
        from ottla.security.listener_options import authorizer_rules

        authorizer_rules(settings)
    for each in (*settings.topology.listeners, *settings.topology.controller_listeners):
        if each.protocol.endswith(TLS):
            certificates.of_listener(each)
            principals_of(each, settings)
        if each.protocol.startswith(SASL):
            from ottla.security.listener_options import read_sasl

            read_sasl(settings, each.name)


def _refuse_open_disks(settings: Settings) -> None:
    """Records stay Kafka's bytes: what encrypts them is the disk, if the file asks for that."""
    if settings.static.get(ENCRYPTED_DISKS, "").strip().lower() != "true":
        return
    from ottla.ports.encrypted_disks import is_encrypted

    topology = settings.topology
    for path in dict.fromkeys((*topology.log_dirs, topology.metadata_dir)):
        if not is_encrypted(path):
            raise OttlaError(
                f"{path} is not on a disk of which it is known that it is encrypted (dm-crypt), "
                f"and {ENCRYPTED_DISKS}=true."
            )


def _refuse_unknowable_voters(settings: Settings) -> None:
    """Who the users of SCRAM are, the quorum tells: voters cannot need it to form one."""
    listener = _controllers(settings)
    if not listener.protocol.startswith(SASL):
        return
    from ottla.security.listener_options import nodes_mechanism
    from ottla.security.scram import MECHANISMS

    mechanism = nodes_mechanism(settings, listener.name, CONTROLLERS_MECHANISM)
    if mechanism in MECHANISMS:
        raise OttlaError(
            f"{CONTROLLERS_MECHANISM}={mechanism}: voters cannot know each other by SCRAM, whose "
            "users are in the metadata that they have yet to agree upon. Use mTLS: "
            f"listener.security.protocol.map={listener.name}:SSL and "
            f"listener.name.{listener.name.lower()}.ssl.client.auth=required (or PLAIN)."
        )


def principals_of(listener: Listener, settings: Settings) -> Callable[[bytes], str] | None:
    """Who a certificate's bearer is; with SASL it does not count."""
    if listener.protocol != TLS:
        return None
    from ottla.security.principals import PrincipalMapping, certificate_name

    mapping = PrincipalMapping(settings.text("ssl.principal.mapping.rules"))
    return lambda certificate: mapping.principal(certificate_name(certificate))


def _inter_broker(settings: Settings) -> Listener | None:
    topology = settings.topology
    return next((one for one in topology.listeners if one.name == topology.inter_broker), None)


def _controllers(settings: Settings) -> Listener:
    """A broker has none of its own: then only name and protocol are known."""
    topology = settings.topology
    name = topology.controller_names[0].upper()
    own = (one for one in topology.controller_listeners if one.name == name)
    return next(own, Listener(name, "", 0, topology.controller_protocol))
