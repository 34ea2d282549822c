"""The client files of a secured node, used as they are by Java's tools and by franz-go."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla import Node
from ottla.client.files import FRANZ_GO, JAVA
from support.toolbox import Toolbox

HERE = Path(__file__).parent
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GO_PROGRAM = """
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	options := append(Options(), kgo.ConsumeTopics(os.Args[1]), kgo.AllowAutoTopicCreation())
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	record := &kgo.Record{Topic: os.Args[1], Value: []byte("hello")}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		panic(err)
	}
	for _, found := range client.PollFetches(ctx).Records() {
		fmt.Println(string(found.Value))
	}
}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with Node(secure=True, data=tmp_path_factory.mktemp("secured") / "home") as node:
        yield node.data / "secure" / "clients" / "admin"


@pytest.mark.java
def test_java_s_tools(toolbox: Toolbox, files: Path, name: str) -> None:
    config = str(files / JAVA)
    lines = (files / JAVA).read_text().splitlines()
    where = next(one.partition("=")[2] for one in lines if one.startswith("bootstrap.servers="))
    said = ("--bootstrap-server", where, "--command-config", config)
    assert toolbox.run(TOPICS, *said, "--create", "--topic", name).exit == 0
    shape = ("--num-records", "10", "--record-size", "10", "--throughput", "-1")
    assert toolbox.run(PRODUCER, "--topic", name, *shape, "--command-config", config).exit == 0
    come = ("--topic", name, "--from-beginning", "--max-messages", "10")
    assert len(toolbox.run(CONSUMER, *said, *come, "--timeout-ms", "20000").lines) == 10


@pytest.mark.foreign
def test_franz_go(files: Path, name: str, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    for file in ("go.mod", "go.sum"):
        shutil.copy(HERE / "go" / file, tmp_path)
    shutil.copy(files / FRANZ_GO, tmp_path)
    (tmp_path / "main.go").write_text(GO_PROGRAM)
    build = ["go", "build", "-mod=mod", "-buildvcs=false", "-o", "program", "."]
    subprocess.run(build, cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "program", name], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "hello\n", ran.stderr
