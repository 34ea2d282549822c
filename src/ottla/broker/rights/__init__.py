"""Which rights a request needs for the things it names, API by API.

`broker.api` says what a whole request needs of the cluster; here stands the rest, as Apache Kafka
4.3 asks it. A guard stands before its handler: it refuses the request, or takes out what its asker
may not touch and adds the refusals to the handler's answer, or drops what may not be seen. So
handlers know nothing of rights, but for Produce and Fetch, whose answers are bytes.

Only where there is an authorizer is any of this imported.
"""
