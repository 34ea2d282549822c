"""Draws docs/demo.svg: the demo as it looks in a terminal after some seconds of running."""

import io
import threading
import time
from pathlib import Path

from rich.console import Console

from ottla.cli import demo
from ottla.testing.node import Node

PICTURE = Path(__file__).parents[1] / "docs" / "demo.svg"
SECONDS = 12


def main() -> None:
    began = time.monotonic()
    with Node() as node:
        board = demo.Board(node.bootstrap_servers, time.monotonic() - began)
        demo.create_topic(node.bootstrap_servers)
        stopping = threading.Event()
        workers = [threading.Thread(target=demo.feed, args=(board, 20, stopping))]
        workers += [
            threading.Thread(target=demo.read, args=(board, name, stopping))
            for name in ("reader-1", "reader-2")
        ]
        for worker in workers:
            worker.start()
        time.sleep(SECONDS)
        console = Console(record=True, width=96, file=io.StringIO())
        console.print(demo.draw(board))
        stopping.set()
        for worker in workers:
            worker.join()
    console.save_svg(str(PICTURE), title="ottla demo")


if __name__ == "__main__":
    main()
