"""Reading a table from its topic."""

import json
import uuid
from contextlib import closing

from confluent_kafka import Producer, TopicPartition

from ottla.pipelines import App
from ottla.pipelines.store import TableView
from ottla.pipelines.topics import NewTopic, connect, create


def test_a_table_whose_first_records_are_gone_is_read_from_what_is_left(driven: str) -> None:
    application = App("store", bootstrap=driven).definition()
    topic = f"table-{uuid.uuid4().hex[:6]}"
    create(application, [NewTopic(topic, 1, {"cleanup.policy": "compact,delete"})])
    producer = Producer({"bootstrap.servers": driven})
    for n in range(6):
        producer.produce(topic, json.dumps({"n": n}), key=f"k{n}")
    assert producer.flush(30) == 0
    client = connect(application)
    for done in client.delete_records([TopicPartition(topic, 0, 3)]).values():
        done.result(30)
    with closing(TableView("store", topic, bootstrap=driven)) as view:
        assert dict(view) == {f"k{n}": {"n": n} for n in range(3, 6)}
