"""What the tests from outside share: brokers as processes, and a raw connection to them.

Nothing here imports ottla: a test written with it runs against Apache Kafka as it does against us.
"""
