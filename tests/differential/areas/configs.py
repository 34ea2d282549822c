"""Settings of topics, groups, client metrics and brokers: shown, changed, and changed wrongly.

Brokers are shared by all sequences: what would change one is only validated.
"""

from random import Random

from differential.brokers import DEFAULTS_OF_TOPICS
from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import Name
from ottla.wire.messages import alter_configs, incremental_alter_configs
from ottla.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
STEPS = {"describe": 4.0, "incremental": 5.0, "alter": 2.5, "list": 0.7}
SETTINGS: dict[int, tuple[tuple[str, tuple[str | None, ...]], ...]] = {
    TOPIC: (
        ("cleanup.policy", ("compact", "delete", "compact,delete", "odd", "")),
        ("retention.ms", ("-1", "100000", "soon", "-2")),
        ("max.message.bytes", ("1000", "-1", None)),
        ("min.insync.replicas", ("1", "2", "0")),
        ("compression.type", ("zstd", "producer", "odd")),
        ("compression.zstd.level", ("3", "99")),
        ("segment.bytes", ("1048576", "1")),
        ("follower.replication.throttled.replicas", ("0:1", "*", "odd")),
        ("message.timestamp.type", ("LogAppendTime", "CreateTime")),
        ("remote.storage.enable", ("true", "false")),
        ("unclean.leader.election.enable", ("true", "perhaps")),
        ("no.such.setting", ("1",)),
        ("", ("1",)),
    ),
    GROUP: (
        ("consumer.session.timeout.ms", ("6000", "1", "50000", "soon")),
        ("consumer.heartbeat.interval.ms", ("200", "6000", "0")),
        ("share.record.lock.duration.ms", ("30000", "1", "15000")),
        ("share.auto.offset.reset", ("earliest", "latest", "by_duration:PT1H", "odd")),
        ("share.isolation.level", ("read_committed", "odd")),
        ("streams.num.standby.replicas", ("1", "2", "99")),
        ("no.such.setting", ("1",)),
    ),
    METRICS: (
        ("interval.ms", ("1000", "100", "1", "4000000", "soon")),
        ("metrics", ("org.apache.kafka.", "", "*")),
        ("match", ("client_id=a.*", "client_id=(", "odd=1", "client_id")),
        ("no.such.setting", ("1",)),
    ),
    BROKER: (
        ("log.cleaner.threads", ("1", "2", "99")),
        ("background.threads", ("10", "1000", "0")),
        ("num.io.threads", ("8", "0")),
        ("log.retention.ms", ("100000", "soon")),
        ("message.max.bytes", ("1000000", "-5")),
        ("node.id", ("2",)),
        ("leader.replication.throttled.rate", ("100", "-1")),
        ("no.such.setting", ("1",)),
    ),
}


def resource(random: Random) -> tuple[int, Name | str]:
    kind = random.choices((TOPIC, GROUP, METRICS, BROKER), (4, 3, 2, 2))[0]
    named: dict[int, tuple[Name | str, ...]] = {
        TOPIC: (Name("t"), Name("t"), Name("u")),
        GROUP: (Name("g"),),
        METRICS: (Name("m"),),
        BROKER: ("1", ""),
    }
    odd: tuple[tuple[int, Name | str], ...] = (
        (TOPIC, Name("missing")),
        (TOPIC, ""),
        (TOPIC, "bad name!"),
        (GROUP, ""),
        (METRICS, ""),
        (BROKER, "9"),
        (BROKER, "x"),
        (77, "x"),
        (0, "x"),
    )
    return rarely(random, 0.08, random.choice(odd), (kind, random.choice(named[kind])))


def settings(random: Random, kind: int) -> list[tuple[str, str | None]]:
    known = SETTINGS.get(kind, SETTINGS[TOPIC])
    some = random.sample(known, random.randint(1, 2))
    return [(name, random.choice(values)) for name, values in some]


def describe(random: Random) -> Step:
    resources = []
    for _ in range(random.choice((1, 1, 2))):
        kind, name = resource(random)
        keys = rarely(random, 0.3, [key for key, _ in settings(random, kind)], None)
        keys = rarely(random, 0.05, [], keys)
        resources.append(
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        )
    request = DescribeConfigsRequest(
        resources=resources,
        include_synonyms=random.random() < 0.5,
        include_documentation=False,
    )
    version = any_version(random, DescribeConfigsRequest)
    return Step(request=request, version=version, connection="look", observes=True)


def operation(random: Random) -> int:
    """Rarely one that there is not: Kafka's controller does not foresee it, and another has to be
    elected, for seconds."""
    return rarely(random, 0.002, 5, rarely(random, 0.35, random.choice((1, 2, 3)), 0))


def incremental(random: Random) -> Step:
    kind, name = resource(random)
    configs = [
        incremental_alter_configs.AlterableConfig(
            name=key,
            config_operation=operation(random),
            value=value,
        )
        for key, value in settings(random, kind)
    ]
    configs += rarely(random, 0.04, configs[:1], [])
    asked = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[asked, *rarely(random, 0.03, [asked], [])],
        validate_only=kind == BROKER or random.random() < 0.15,
    )
    return Step(request=request, version=any_version(random, type(request)))


def alter(random: Random) -> Step:
    kind, name = resource(random)
    configs = [
        alter_configs.AlterableConfig(name=key, value=value)
        for key, value in settings(random, kind)
    ]
    asked = alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=rarely(random, 0.1, [], configs)
    )
    request = alter_configs.AlterConfigsRequest(
        resources=[asked], validate_only=kind == BROKER or random.random() < 0.15
    )
    return Step(request=request, version=any_version(random, type(request)))


def listing(random: Random) -> Step:
    kinds = random.choice(([], [METRICS], [TOPIC, GROUP], [BROKER], [77], [LOGGER]))
    request = ListConfigResourcesRequest(resource_types=kinds)
    version = any_version(random, ListConfigResourcesRequest)
    return Step(request=request, version=version, connection="look", observes=True)


def draw(random: Random) -> list[Move]:
    choices = {
        "describe": describe,
        "incremental": incremental,
        "alter": alter,
        "list": listing,
    }
    count = random.randint(20, 40)
    return [choices[weighted(random, STEPS)](random) for _ in range(count)]


AREA = Area(
    name="configs",
    draw=draw,
    topics=(Topic(name="t"), Topic(name="u", configs={"retention.ms": "700000"})),
    settings=DEFAULTS_OF_TOPICS,
    at_once=12,  # changes wait for each other at the controller's door
    modes=("patient",),
    lasting=frozenset({"AlterConfigs", "IncrementalAlterConfigs"}),
)
