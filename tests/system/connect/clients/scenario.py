"""kafka-connect-api from PyPI: arguments are the port, a file and a topic. Prints JSON."""

import json
import sys
import time
from typing import Any

from kafka_connect_api.errors import GenericNotFound
from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector

port, file, topic = sys.argv[1:]
config = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "tasks.max": "1",
    "file": file,
    "topic": topic,
}


def until(one: Connector, state: str) -> list[str]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            found = [one.state, *(task.state for task in one.tasks)]
        except GenericNotFound:  # a status is there a moment after what it is about
            found = []
        if set(found) == {state} and len(found) == 2:
            return found
        time.sleep(0.05)
    raise SystemExit(f"it does not become {state}: {one.status}")


def main() -> None:
    cluster = Cluster(Api(hostname="127.0.0.1", port=int(port)))
    seen: dict[str, Any] = {"version": bool(cluster.version and cluster.kafka_cluster)}
    one = Connector(cluster, "by-python")
    try:
        one.exists()
    except GenericNotFound as error:
        seen["unknown"] = error.code
    created = cluster.api.post("/connectors", json={"name": one.name, "config": config})
    seen["created"] = [created["name"], created["type"]]
    seen["running"] = until(one, "RUNNING")
    seen["exists"] = one.exists()
    seen["connectors"] = list(cluster.connectors)
    one.config = {**config, "batch.size": "7"}
    seen["config"] = one.config
    seen["class"] = one.connector_class
    while not all("batch.size" in task.config for task in one.tasks):
        time.sleep(0.05)  # tasks get what is new a moment after the connector
    until(one, "RUNNING")
    seen["tasks"] = [(task.id, task.config["batch.size"], task.is_running()) for task in one.tasks]
    one.pause()
    seen["paused"] = until(one, "PAUSED")
    one.resume()
    seen["resumed"] = until(one, "RUNNING")
    one.restart()
    until(one, "RUNNING")
    one.cycle_connector()
    seen["cycled"] = until(one, "RUNNING")
    logger = next(iter(cluster.loggers))
    cluster.set_logger_log_level(logger, "WARN")
    seen["logger"] = cluster.loggers[logger]["level"]
    one.delete()
    seen["left"] = list(cluster.connectors)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
