"""One file per API, named like its message, in a folder for its area; listed in `broker.api`,
imported on first use.

Each has `handle(request, context, broker)`, which returns the response or something to await;
it raises `KafkaError` to refuse the whole request. Where the response has no error code of its
own at the top, `refuse(request, error)` says what such a refusal looks like. The hot ones have
`serve(frame, position, context, broker)` instead and read and write bytes themselves.

What the controller answers needs no `handle` (`broker.forwarding` is one for all of them), and no
file where there is nothing to `refuse`; what the quorum answers has none.
"""
