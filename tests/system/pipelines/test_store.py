"""Reading a table from its topic."""

import json
import threading
import uuid
from contextlib import closing

from confluent_kafka import Producer, TopicPartition

from ottla.pipelines import App
from ottla.pipelines.api.store import TableView
from ottla.pipelines.lifecycle.brokers import connect, create
from ottla.pipelines.lifecycle.pictures import LiveFrame
from ottla.pipelines.planning.topics import FOREVER, NewTopic


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


class Notebook:
    """What a picture uses of IPython's module `display`."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.moved = threading.Event()

    def HTML(self, text: str) -> str:
        return text

    def display(self, picture: str, *, display_id: bool) -> "Notebook":
        assert display_id
        self.shown.append(picture)
        return self

    def update(self, picture: str) -> None:
        self.shown.append(picture)
        if "cem" in picture:
            self.moved.set()


def test_a_table_is_a_frame_of_pandas_and_renews_itself_in_a_notebook(driven: str) -> None:
    topic = f"frames-{uuid.uuid4().hex[:8]}"
    create(App("frames", bootstrap=driven).definition(), [NewTopic(topic, 2, FOREVER)])
    producer = Producer({"bootstrap.servers": driven})

    def put(key: str, value: str | None) -> None:
        producer.produce(topic, value, key)
        assert producer.flush(30) == 0

    put("bob", '{"n": 2, "town": "Brno"}')
    put("ann", '{"n": 1}')
    put("dee", '{"n": 9}')
    put("dee", None)
    view = TableView("frames", topic, bootstrap=driven)
    frame = view.to_pandas()
    assert list(frame.index) == ["ann", "bob"]
    assert frame.index.name == "key"
    assert list(frame["n"]) == [1, 2]
    assert frame.loc["bob", "town"] == "Brno"
    notebook = Notebook()
    live = LiveFrame(view, 0.05, notebook).start()
    put("cem", "plain text")
    assert notebook.moved.wait(30)
    live.stop()
    assert "plain text" in notebook.shown[-1]
    assert "Brno" in notebook.shown[0]
    assert view.to_pandas().loc["cem", "value"] == "plain text"
    view.close()
