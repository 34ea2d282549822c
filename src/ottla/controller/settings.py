"""Settings changed at run time: of topics, brokers, all brokers, groups and client metrics."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from ottla.config.options import (
    BROKER_OPTIONS,
    CLIENT_METRICS_OPTIONS,
    GROUP_OPTIONS,
    TOPIC_OPTIONS,
    ConfigType,
    Option,
)
from ottla.config.settings import (
    Settings,
    validate_broker_config,
    validate_client_metrics,
    validate_group_config,
    validate_topic_configs,
)
from ottla.controller.decision import ControllerResult
from ottla.controller.naming import check_topic_name
from ottla.controller.policies import NO_POLICIES, Policies
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.features import MIN_IN_SYNC
from ottla.metadata.image import ConfigResourceType, Image
from ottla.metadata.records import Record
from ottla.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from ottla.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse as IncrementalResourceResponse,
)
from ottla.wire.records.metadata import ClearElrRecord, ConfigRecord

OPERATIONS = range(4)
SET, DELETE, APPEND, SUBTRACT = OPERATIONS
VALUE_LENGTH_MAX = 32_767

Resource = tuple[int, str]
Changes = Mapping[str, str | None]
"""What each name shall be; None: no longer set."""

_OPTIONS: Mapping[int, Mapping[str, Option]] = {
    ConfigResourceType.TOPIC: TOPIC_OPTIONS,
    ConfigResourceType.BROKER: BROKER_OPTIONS,
    ConfigResourceType.GROUP: GROUP_OPTIONS,
    ConfigResourceType.CLIENT_METRICS: CLIENT_METRICS_OPTIONS,
}

_WITH_LISTS = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER)
"""Whose lists can be added to and taken from; Kafka's controller knows no others' kinds."""


def created_topic_records(
    image: Image, name: str, configs: Mapping[str, str], policies: Policies = NO_POLICIES
) -> list[Record]:
    """The settings a topic is born with."""
    if not configs:
        return []
    validate_topic_configs(configs)
    policies.check_configs(ConfigResourceType.TOPIC, name, configs)
    return _records(image, (ConfigResourceType.TOPIC, name), configs)


def incremental_alter_configs(
    image: Image,
    settings: Settings,
    ask: IncrementalAlterConfigsRequest,
    policies: Policies = NO_POLICIES,
) -> ControllerResult[IncrementalAlterConfigsResponse]:
    response = IncrementalAlterConfigsResponse()
    records: list[Record] = []
    named = Counter((one.resource_type, one.resource_name) for one in ask.resources)
    for one in ask.resources:
        resource = one.resource_type, one.resource_name
        wanted = partial(_incremental, image, resource, one.configs)
        error = _alter(image, settings, resource, named[resource], records, wanted, policies)
        response.responses.append(
            IncrementalResourceResponse(
                error_code=error.code if error else 0,
                error_message=error.message if error else None,
                resource_type=one.resource_type,
                resource_name=one.resource_name,
            )
        )
    return ControllerResult([] if ask.validate_only else records, response, atomic=False)


def alter_configs(
    image: Image,
    settings: Settings,
    ask: AlterConfigsRequest,
    policies: Policies = NO_POLICIES,
) -> ControllerResult[AlterConfigsResponse]:
    """The old way: what is not named is no longer set."""
    response = AlterConfigsResponse()
    records: list[Record] = []
    named = Counter((one.resource_type, one.resource_name) for one in ask.resources)
    for one in ask.resources:
        resource = one.resource_type, one.resource_name
        given = {config.name: config.value for config in one.configs}
        wanted = partial(_replacing, image, resource, given)
        error = _alter(image, settings, resource, named[resource], records, wanted, policies, given)
        response.responses.append(
            AlterConfigsResourceResponse(
                error_code=error.code if error else 0,
                error_message=error.message if error else None,
                resource_type=one.resource_type,
                resource_name=one.resource_name,
            )
        )
    return ControllerResult([] if ask.validate_only else records, response, atomic=False)


def _alter(
    image: Image,
    settings: Settings,
    resource: Resource,
    times_named: int,
    records: list[Record],
    changes: Callable[[], Changes],
    policies: Policies,
    said: Changes | None = None,
) -> KafkaError | None:
    """A policy hears of what was said, not of what goes because nobody spoke of it."""
    try:
        if times_named > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource may be named once.")
        _check_kind(resource)
        wanted = changes()
        _check_lengths(wanted)
        _check_name(resource)
        _validate(image, settings, resource, wanted)
        _check_existence(image, resource)
        policies.check_configs(*resource, wanted if said is None else said)
        records += _records(image, resource, wanted)
    except KafkaError as error:
        return error
    return None


def _check_kind(resource: Resource) -> None:
    if resource[0] not in _OPTIONS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Resources of type {resource[0]} have no settings here."
        )


def _check_name(resource: Resource) -> None:
    """After the changes, as in Apache Kafka: what cannot be done to any resource is told first."""
    kind, name = resource
    if kind == ConfigResourceType.BROKER:
        if name and not name.isdigit():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"'{name}' is not the id of a broker.")
    elif not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The resource's name must not be empty.")


def _check_lengths(changes: Changes) -> None:
    for name, value in changes.items():
        if value is not None and len(value) > VALUE_LENGTH_MAX:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{name} would be {len(value)} characters long; {VALUE_LENGTH_MAX} are the limit.",
            )


def _check_existence(image: Image, resource: Resource) -> None:
    """Last, as in Apache Kafka: a bad value is told even of a topic that is not there."""
    kind, name = resource
    if kind == ConfigResourceType.TOPIC and name not in image.topics_by_name:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
    if kind == ConfigResourceType.BROKER and name and int(name) not in image.brokers:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no broker {name}.")


def _incremental(image: Image, resource: Resource, configs: list[AlterableConfig]) -> Changes:
    check_entries(configs)
    known_first = sorted(configs, key=lambda config: config.config_operation not in OPERATIONS)
    return {config.name: _operate(image, resource, config) for config in known_first}


def check_entries(configs: list[AlterableConfig]) -> None:
    """What is looked at before anything is looked up."""
    if len({config.name for config in configs}) != len(configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Each setting may be named once.")
    for config in configs:
        if config.config_operation != DELETE and config.value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{config.name} was given without a value.")


def _operate(image: Image, resource: Resource, config: AlterableConfig) -> str | None:
    if config.config_operation == DELETE:
        return None
    assert config.value is not None, "checked before"
    if config.config_operation == SET:
        return config.value
    if config.config_operation not in (APPEND, SUBTRACT):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"There is no operation {config.config_operation}."
        )
    option = _OPTIONS[resource[0]].get(config.name)
    if resource[0] not in _WITH_LISTS or option is None or option.kind is not ConfigType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{config.name} is not a list: nothing can be added to or taken from it.",
        )
    present = image.config(*resource).get(config.name, option.default) or ""
    items = [item for item in present.split(",") if item]
    given = config.value.split(",")
    if config.config_operation == APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(items)


def _replacing(image: Image, resource: Resource, given: Mapping[str, str | None]) -> Changes:
    for name, value in given.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} was given without a value.")
    gone = dict.fromkeys(name for name in image.config(*resource) if name not in given)
    return {**gone, **given}


def _validate(image: Image, settings: Settings, resource: Resource, changes: Changes) -> None:
    kind, name = resource
    given = {**image.config(kind, name), **changes}
    after = {key: value for key, value in given.items() if value is not None}
    if kind == ConfigResourceType.TOPIC:
        check_topic_name(name)
        validate_topic_configs(after)
    elif kind == ConfigResourceType.CLIENT_METRICS:
        validate_client_metrics(after)
    elif kind == ConfigResourceType.GROUP:
        for key, value in changes.items():
            if value is not None:
                validate_group_config(key, value)
                _check_group_bounds(settings, key, _number(value))
        _check_group_sessions(settings.for_group(after))
    else:
        _validate_broker(image, name, changes)


def _validate_broker(image: Image, name: str, changes: Changes) -> None:
    """A name that nobody knows is taken, as Apache Kafka does: it may be a plug-in's."""
    for key, value in changes.items():
        if value is not None and key in BROKER_OPTIONS:
            try:
                validate_broker_config(key, value, cluster_wide=name == "")
            except KafkaError as error:
                raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from None
    if image.elr_enabled and MIN_IN_SYNC in changes:
        _check_min_isr(name, changes[MIN_IN_SYNC])


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None


def _check_group_bounds(settings: Settings, name: str, value: int | None) -> None:
    """`consumer.session.timeout.ms` lies between the broker's `group.consumer.min.…` and max."""
    kind, _, rest = name.partition(".")
    for bound, sign in (("min", 1), ("max", -1)):
        option = f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
        if value is None or option not in BROKER_OPTIONS:
            continue
        limit = settings.int(option)
        if (value - limit) * sign < 0:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{name} is {value}, but {option} is {limit}."
            )


def _check_group_sessions(group: Settings) -> None:
    """Whoever is to be heard of in time must have the time."""
    for kind in ("consumer", "share", "streams"):
        session, beat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if group.int(session) <= group.int(beat):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{session} is {group.int(session)}: it must be longer than {beat}, which is "
                f"{group.int(beat)}.",
            )


def _check_min_isr(broker: str, value: str | None) -> None:
    """Eligible leaders are reckoned with it, so it must be one value for the whole cluster."""
    if broker:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"{MIN_IN_SYNC} is set for all brokers or for a topic."
        )
    if value is None:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"{MIN_IN_SYNC} of the cluster can be changed, not removed."
        )


def _records(image: Image, resource: Resource, changes: Changes) -> list[Record]:
    kind, name = resource
    present = image.config(kind, name)
    records: list[Record] = [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
        for key, value in changes.items()
        if present.get(key) != value
    ]
    changes_min_isr = any(
        isinstance(one, ConfigRecord) and one.name == MIN_IN_SYNC for one in records
    )
    if changes_min_isr and image.elr_enabled:
        # Who was eligible under the old number may not be under the new one.
        records.append(ClearElrRecord(topic_name=name if kind == ConfigResourceType.TOPIC else ""))
    return records
