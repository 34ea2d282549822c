"""What lies between two images; needed when a snapshot replaces the records in between."""

from ottla.metadata.image import Delta, Image


def difference(before: Image, after: Image) -> Delta:
    delta = Delta()
    for topic_id, topic in before.topics_by_id.items():
        if topic_id not in after.topics_by_id:
            delta.topics_removed[topic_id] = topic
    for topic_id, topic in after.topics_by_id.items():
        old = before.topics_by_id.get(topic_id)
        if old is None:
            delta.topics_added[topic_id] = topic
        for index, partition in topic.partitions.items():
            was = old.partitions.get(index) if old else None
            if was != partition:
                delta.partitions[topic_id, index] = was
    for key in before.configs.keys() | after.configs.keys():
        if before.configs.get(key) != after.configs.get(key):
            delta.configs.add(key)
    for broker_id in before.brokers.keys() | after.brokers.keys():
        if before.brokers.get(broker_id) != after.brokers.get(broker_id):
            delta.brokers[broker_id] = before.brokers.get(broker_id)
    delta.features = before.features != after.features
    delta.access = (
        before.acls != after.acls
        or before.scram_credentials != after.scram_credentials
        or before.delegation_tokens != after.delegation_tokens
    )
    delta.quotas = before.client_quotas != after.client_quotas
    return delta
