"""Options of a broker or controller: who comes, how that is proven, and who may do what."""

# ruff: noqa: E501
SECURITY = """
alter.config.policy.class.name class null - read-only low
  Class in Python, as module:Class, that may veto a change of configuration.
authorizer.class.name string "" - read-only low
  Who decides who may do what: Kafka's StandardAuthorizer, or empty for nobody.
config.providers list "" - cluster-wide low
  Names of providers that resolve variables in the file.
connection.failed.authentication.delay.ms int 100 0.. read-only low
  Wait before closing a connection that failed to authenticate.
connections.max.reauth.ms long 0 - read-only medium per-mechanism
  Age at which an authenticated connection has to authenticate again; 0 means never.
create.topic.policy.class.name class null - read-only low
  Class in Python, as module:Class, that may veto the creation of a topic.
delegation.token.expiry.check.interval.ms long 3600000 1.. read-only low
  Time between searches for delegation tokens that have expired.
delegation.token.expiry.time.ms long 86400000 1.. read-only medium
  Life of a delegation token between renewals.
delegation.token.max.lifetime.ms long 604800000 1.. read-only medium
  Age beyond which a delegation token cannot be renewed.
delegation.token.secret.key password null - read-only medium
  Secret by which delegation tokens are signed; the same on all brokers.
early.start.listeners list null - read-only high
  Listeners that open before the authorizer is ready; by default the controllers'.
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - per-broker medium
  Java class that tells who a connection belongs to.
sasl.client.callback.handler.class class null - read-only medium
  Java class that answers SASL's questions on the client's side.
sasl.enabled.mechanisms list GSSAPI - per-broker medium
  SASL mechanisms clients may use.
sasl.jaas.config password null - per-broker medium per-mechanism
  Login context of a SASL listener.
sasl.kerberos.kinit.cmd string /usr/bin/kinit - per-broker medium ignored
  Path of Kerberos' kinit.
sasl.kerberos.min.time.before.relogin long 60000 - per-broker medium ignored
  Least time between two Kerberos logins.
sasl.kerberos.principal.to.local.rules list DEFAULT - per-broker medium
  Rules that turn Kerberos principals into short names.
sasl.kerberos.service.name string null - per-broker medium
  Kerberos name of the brokers.
sasl.kerberos.ticket.renew.jitter double 0.05 - per-broker medium ignored
  Random part of the time at which a Kerberos ticket is renewed.
sasl.kerberos.ticket.renew.window.factor double 0.8 - per-broker medium ignored
  Share of a Kerberos ticket's life after which it is renewed.
sasl.login.callback.handler.class class null - read-only medium per-mechanism
  Java class that answers SASL's questions at login.
sasl.login.class class null - read-only medium per-mechanism
  Java class that logs in.
sasl.login.connect.timeout.ms int null - read-only low ignored
  How long connecting to the identity provider may take.
sasl.login.read.timeout.ms int null - read-only low ignored
  How long the identity provider may take to answer.
sasl.login.refresh.buffer.seconds short 300 - per-broker medium ignored
  Time kept in reserve before a credential expires.
sasl.login.refresh.min.period.seconds short 60 - per-broker medium ignored
  Least time between two refreshes of a credential.
sasl.login.refresh.window.factor double 0.8 - per-broker medium ignored
  Share of a credential's life after which it is refreshed.
sasl.login.refresh.window.jitter double 0.05 - per-broker medium ignored
  Random part of the time at which a credential is refreshed.
sasl.login.retry.backoff.max.ms long 10000 - read-only low ignored
  Longest pause between attempts to log in at the identity provider.
sasl.login.retry.backoff.ms long 100 - read-only low ignored
  First pause between attempts to log in at the identity provider.
sasl.mechanism.controller.protocol string GSSAPI - read-only high
  SASL mechanism towards controllers.
sasl.mechanism.inter.broker.protocol string GSSAPI - per-broker medium
  SASL mechanism between brokers.
sasl.oauthbearer.assertion.algorithm string RS256 ~ES256|RS256 read-only medium ignored
  Algorithm by which client assertions are signed.
sasl.oauthbearer.assertion.claim.aud string null - read-only medium ignored
  Audience named in client assertions.
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400 read-only low ignored
  Life of a client assertion.
sasl.oauthbearer.assertion.claim.iss string null - read-only medium ignored
  Issuer named in client assertions.
sasl.oauthbearer.assertion.claim.jti.include boolean false - read-only medium ignored
  Give each client assertion an id of its own.
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600 read-only low ignored
  How long before its making a client assertion is already valid.
sasl.oauthbearer.assertion.claim.sub string null - read-only medium ignored
  Subject named in client assertions.
sasl.oauthbearer.assertion.file string null - read-only medium ignored
  File with a ready-made client assertion.
sasl.oauthbearer.assertion.private.key.file string null - read-only medium ignored
  File with the key that signs client assertions.
sasl.oauthbearer.assertion.private.key.passphrase password null - read-only medium ignored
  Passphrase of the key that signs client assertions.
sasl.oauthbearer.assertion.template.file string null - read-only medium ignored
  File with claims that every client assertion carries.
sasl.oauthbearer.client.credentials.client.id string null - read-only medium
  Client id for the OAuth grant of client credentials.
sasl.oauthbearer.client.credentials.client.secret password null - read-only medium
  Client secret for the OAuth grant of client credentials.
sasl.oauthbearer.clock.skew.seconds int 30 - read-only low
  How far the identity provider's clock may differ from the broker's.
sasl.oauthbearer.expected.audience list "" - read-only high
  Audiences a token may be made out to.
sasl.oauthbearer.expected.issuer string null - read-only high
  Issuer a token must come from.
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 - read-only low
  Time between refreshes of the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 - read-only low
  Longest pause between attempts to fetch the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 - read-only low
  First pause between attempts to fetch the identity provider's keys.
sasl.oauthbearer.jwks.endpoint.url string null - read-only medium
  Where the identity provider's keys are.
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever - read-only medium
  Java class that fetches tokens.
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator - read-only medium
  Java class that checks tokens.
sasl.oauthbearer.scope string null - read-only medium
  Scope asked for at the identity provider.
sasl.oauthbearer.scope.claim.name string scope - read-only low
  Claim of a token that holds its scope.
sasl.oauthbearer.sub.claim.name string sub - read-only low
  Claim of a token that holds its subject.
sasl.oauthbearer.token.endpoint.url string null - read-only medium
  Where the identity provider hands out tokens.
sasl.server.callback.handler.class class null - read-only medium per-mechanism
  Java class that answers SASL's questions on the broker's side.
sasl.server.max.receive.size int 524288 - read-only medium
  Largest message during authentication.
security.inter.broker.protocol string PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL read-only medium
  Protocol between brokers, where no listener is named for it.
security.providers string null - read-only low
  Java security providers.
ssl.allow.dn.changes boolean false - read-only low
  Allow another distinguished name when a keystore is replaced at run time.
ssl.allow.san.changes boolean false - read-only low
  Allow other alternative names when a keystore is replaced at run time.
ssl.cipher.suites list "" - per-broker medium
  Cipher suites that may be used; empty means the library's own choice.
ssl.client.auth string none required|requested|none per-broker medium
  Whether clients must, may or need not show a certificate.
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - per-broker medium
  TLS versions that may be used.
ssl.endpoint.identification.algorithm string https - per-broker low
  How a server's name is checked against its certificate; empty turns it off.
ssl.engine.factory.class class null - per-broker low
  Java class that makes TLS engines.
ssl.key.password password null - per-broker medium
  Password of the private key.
ssl.keymanager.algorithm string SunX509 - per-broker medium
  Java's algorithm for key managers.
ssl.keystore.certificate.chain password null - per-broker medium
  Certificate chain in PEM.
ssl.keystore.key password null - per-broker medium
  Private key in PEM.
ssl.keystore.location string null - per-broker medium
  File with the private key and its certificate.
ssl.keystore.password password null - per-broker medium
  Password of the keystore.
ssl.keystore.type string JKS - per-broker medium
  Format of the keystore.
ssl.principal.mapping.rules string DEFAULT - read-only low
  Rules that turn the name in a certificate into a short one.
ssl.protocol string TLSv1.3 - per-broker medium ignored
  TLS version of the context.
ssl.provider string null - per-broker medium
  Java security provider for TLS.
ssl.secure.random.implementation string null - per-broker low
  Java's source of randomness for TLS.
ssl.trustmanager.algorithm string PKIX - per-broker medium
  Java's algorithm for trust managers.
ssl.truststore.certificates password null - per-broker medium
  Trusted certificates in PEM.
ssl.truststore.location string null - per-broker medium
  File with the trusted certificates.
ssl.truststore.password password null - per-broker medium
  Password of the truststore.
ssl.truststore.type string JKS - per-broker medium
  Format of the truststore.
"""
