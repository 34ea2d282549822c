"""What connectors may say to Kafka's clients: the policies of `*.override.*`. Pure."""

from collections.abc import Mapping

_PREFIXES = ("producer.override.", "consumer.override.", "admin.override.")
_PRINCIPAL = ("security.protocol", "sasl.jaas.config", "sasl.mechanism")


def refused_overrides(policy: str, config: Mapping[str, str | None]) -> dict[str, str]:
    """Why, by the name of the key. `policy` is a class of Connect's or its short name."""
    kind = policy.rpartition(".")[2].removesuffix("ConnectorClientConfigOverridePolicy")
    if kind == "All":
        return {}
    allowed = _PRINCIPAL if kind == "Principal" else ()
    return {
        name: f"The '{kind}' policy does not allow '{key}' to be overridden in the connector "
        "configuration."
        for name in config
        for prefix in _PREFIXES
        if name.startswith(prefix) and (key := name.removeprefix(prefix)) not in allowed
    }
