"""Whatever goes wrong, a client hears of it: every response has a place for an error."""

import pytest

from ottla.broker.api import Api, Listeners, apis, load
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import encode

SERVED = [*apis(Listeners.BROKER).values(), *apis(Listeners.CONTROLLER).values()]


@pytest.mark.parametrize("api", SERVED, ids=lambda api: f"{api.name}-{api.listeners.name}")
def test_every_handler_can_refuse_a_whole_request(api: Api) -> None:
    handler = load(api)
    if handler.serve is not None or "error_code" in handler.response.__struct_fields__:
        return
    assert handler.refuse is not None
    error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log says how.")
    for version in api.versions:
        encode(handler.refuse(handler.request(), error), version)
