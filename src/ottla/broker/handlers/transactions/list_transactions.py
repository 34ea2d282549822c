"""ListTransactions: the transactional ids that this broker coordinates, by state, producer, age.

Version 1 adds the age, version 2 a pattern that names must match as a whole (KIP-1152).
"""

from ottla.broker.services import TransactionServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.groups.consumer import regex
from ottla.transactions.states import Transaction, TransactionState
from ottla.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from ottla.wire.messages.list_transactions import TransactionState as ListedTransaction

TITLES = {state.title for state in TransactionState}


def handle(
    request: ListTransactionsRequest, context: RequestContext, services: TransactionServices
) -> ListTransactionsResponse:
    if services.coordinator().shards.loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    now_ms = services.cluster.clock.wall_ms()
    found = [
        each for each in services.coordinator().transactions() if is_wanted(each, request, now_ms)
    ]
    if request.transactional_id_pattern:
        regex.check(request.transactional_id_pattern)
        names = {each.transactional_id for each in found}
        matching = set(regex.matching(request.transactional_id_pattern, names))
        found = [each for each in found if each.transactional_id in matching]
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in TITLES],
        transaction_states=[
            ListedTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state.title,
            )
            for each in found
        ],
    )


def is_wanted(each: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    if request.state_filters and each.state.title not in request.state_filters:
        return False
    if request.producer_id_filters and each.producer_id not in request.producer_id_filters:
        return False
    return request.duration_filter < 0 or now_ms - each.started_ms > request.duration_filter
