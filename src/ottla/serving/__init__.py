"""What every server beside the broker shares.

`http` serves, `options` reads a properties file, `topic_state` keeps a service's memory in a
compacted topic, `election` finds the one writer among several processes. Which service that is
for is not known here.
"""
