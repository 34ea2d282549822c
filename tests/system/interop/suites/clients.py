"""The suites, one entry each. What a client's suite expects of its brokers is said here."""

import json
import os
import subprocess
from pathlib import Path

from support.jars import class_path
from system.interop.suites.reports import read_go, read_junit, read_librdkafka
from system.interop.suites.secured import AUTHORIZER
from system.interop.suites.suite import Command, Place, Results, Suite

STAND_INS = Path(__file__).parent / "stand_ins"
REPORT = "report"


def go_module(module: str) -> Path:
    """A Go module's folder, its tests and all they need beside it."""
    told = subprocess.run(
        ["go", "mod", "download", "-json", module], check=True, capture_output=True, cwd="/"
    )
    folder = Path(json.loads(told.stdout)["Dir"])
    subprocess.run(["go", "mod", "download"], check=True, cwd=folder)
    return folder


def go_test(place: Place, package: str, *options: str, **environment: str) -> Command:
    """Two tests at a time: more would only wait for two cores. Go's cache would answer for a
    second broker at the same port: it has no say (`-count=1`)."""
    script = 'go test -json -count=1 -mod=mod -p 1 -parallel 2 "$@" > "$REPORT"'
    report = str(place.work / REPORT)
    only = ["-run", "|".join(place.only)] if place.only else []
    return Command(
        arguments=["bash", "-c", script, "go-test", *options, *only, package],
        environment={"REPORT": report, "GOFLAGS": "-buildvcs=false", **environment},
    )


def go_results(place: Place) -> Results:
    return read_go(place.work / REPORT)


def pytest_run(place: Place, *tests: str, **environment: str) -> Command:
    options = ["-q", "-p", "no:cacheprovider"]
    if place.only:
        options += ["-k", " or ".join(place.only)]
    report = f"--junitxml={place.work / REPORT}"
    return Command(
        arguments=[str(place.python), "-m", "pytest", *options, report, "--timeout=180", *tests],
        environment=environment,
    )


def junit_results(place: Place) -> Results:
    return read_junit(place.work / REPORT)


def kgo(place: Place) -> Command:
    environment = {"KGO_SEEDS": place.bootstrap, "KGO_TEST_RF": "1", "KGO_LOG_LEVEL": "none"}
    fewer = {"KGO_TEST_RECORDS": "100000"}  # of 500,000: as many transactions, sooner over
    return go_test(place, "./pkg/kgo", "-timeout", "1500s", **environment, **fewer)


def kadm(place: Place) -> Command:
    return go_test(place, ".", "-timeout", "300s", KGO_SEEDS=place.bootstrap)


def kafka_go(place: Place) -> Command:
    """Three of its tests look up a coordinator by a function that they leave nil."""
    nil = "TestReaderConsumerGroup/(verify_offset|consumer_group_commits_on_close)"
    return go_test(place, ".", "-timeout", "1500s", "-skip", nil, KAFKA_VERSION="4.3.1")


def kafka_python(place: Place) -> Command:
    """Its fixtures look for Kafka's folder even where a broker runs already."""
    return pytest_run(
        place,
        "test/integration",
        KAFKA_URI=f"kafka://{place.bootstrap}",
        KAFKA_VERSION="4.3",
        KAFKA_ROOT=str(place.work),
        PYTHONPATH=str(place.source),
    )


def aiokafka(place: Place) -> Command:
    """It starts its broker by Docker's client: a stand-in hands out the one that runs."""
    addresses = {"PLAINTEXT": place.bootstrap, **place.addresses}
    return pytest_run(
        place,
        "tests",
        "--docker-image=kafka:2.13_4.3.1",
        "--no-pull",
        AIOKAFKA_NO_EXTENSIONS="1",  # a checkout is not compiled
        OTTLA_SUITE_ADDRESSES=json.dumps(addresses),
        KAFKA_CLASS_PATH=class_path(),
        PYTHONPATH=str(STAND_INS),
        PATH=f"{STAND_INS / 'bin'}:{os.environ['PATH']}",
    )


def librdkafka(place: Place) -> Command:
    """Built by hand beforehand, by `configure` or in a folder of CMake's. Each test is a process of
    its own, so that one that hangs or crashes takes no other with it; tests that start a mock
    broker of librdkafka's (`-L`) say nothing about ours."""
    runner = next(place.source.glob("**/tests/test-runner"))
    one = (
        'name=${1%.*}; : > "$REPORTS/$name"; TESTS=${name%%-*} TEST_REPORT="$REPORTS/$name" '
        'timeout "$SECONDS_MAX" "$RUNNER" -p1 -L > "$LOGS/$name" 2>&1'
    )
    script = f"ls $TESTS_CHOSEN | xargs -P {place.at_once} -n 1 bash -c '{one}' one"
    reports, logs = place.work / REPORT, place.work / "logs"
    reports.mkdir()
    logs.mkdir()
    configuration = place.work / "test.conf"
    configuration.write_text(
        f"bootstrap.servers={place.bootstrap}\ntest.timeout.multiplier={1 + place.at_once}\n"
    )
    return Command(
        arguments=["bash", "-c", f"cd {place.source / 'tests'} && {script}"],
        environment={
            "RUNNER": str(runner),
            "REPORTS": str(reports),
            "LOGS": str(logs),
            "RDKAFKA_TEST_CONF": str(configuration),
            "TESTS_CHOSEN": " ".join(f"{start}*.c*" for start in place.only or ("0",)),
            "SECONDS_MAX": "900",
            "TEST_KAFKA_VERSION": "4.3.1",
            "TEST_CONSUMER_GROUP_PROTOCOL": "consumer",
            "KAFKA_PATH": str(STAND_INS / "kafka"),
            "KAFKA_CLASS_PATH": class_path(),
            "BROKERS": place.bootstrap,
            "LD_LIBRARY_PATH": f"{place.source / 'src'}:{place.source / 'src-cpp'}",
        },
    )


def kafkajs(place: Place) -> Command:
    """Its packages are installed by hand beforehand (`npm install`)."""
    return Command(
        arguments=["npx", "jest", "--ci", "--runInBand", "--forceExit", *place.only],
        environment={
            "KAFKA_VERSION": "2.4",
            "KAFKAJS_DEBUG_PROTOCOL_BUFFERS": "1",
            "JEST_JUNIT_OUTPUT_DIR": str(place.work),
            "JEST_JUNIT_OUTPUT_NAME": REPORT,
        },
    )


FOUR_PARTITIONS = {"num.partitions": "4"}
FIRST_NODE = {"node.id": "0"}  # some ask it by its number
SUITES = {
    "kgo": Suite(
        source=lambda: go_module("github.com/twmb/franz-go@v1.22.2"),
        command=kgo,
        results=go_results,
        settings=FIRST_NODE,  # which it takes for the leader wherever an answer names none
    ),
    "kadm": Suite(
        source=lambda: go_module("github.com/twmb/franz-go/pkg/kadm@v1.19.0"),
        command=kadm,
        results=go_results,
    ),
    "kafka-go": Suite(
        source=lambda: go_module("github.com/segmentio/kafka-go@v0.4.51"),
        command=kafka_go,
        results=go_results,
        ports=(9092,),
        host="localhost",
        settings=AUTHORIZER,
    ),
    "kafka-python": Suite(
        source=None,
        command=kafka_python,
        results=junit_results,
        packages=("pytest==9.0.2", "pytest-timeout", "pytest-mock", "crc32c", "lz4", "zstandard"),
        settings={**FOUR_PARTITIONS, **FIRST_NODE, "group.min.session.timeout.ms": "100"},
    ),
    "aiokafka": Suite(
        source=None,
        command=aiokafka,
        results=junit_results,
        packages=(
            *("pytest==9.0.2", "pytest-asyncio==1.3.0", "pytest-mock==3.15.1", "pytest-timeout"),
            *("async-timeout", "cramjam", "packaging", "typing_extensions"),
        ),
        settings={"num.partitions": "2", **FIRST_NODE},
        secured=True,
    ),
    "librdkafka": Suite(
        source=None,
        command=librdkafka,
        results=lambda place: read_librdkafka(place.work / REPORT),
        settings={
            **FOUR_PARTITIONS,
            **AUTHORIZER,
            "group.share.min.record.lock.duration.ms": "1000",
        },
        seconds_max=7200,
    ),
    "kafkajs": Suite(
        source=None,
        command=kafkajs,
        results=junit_results,
        ports=(9092, 9095, 9098),
        host="localhost",
        settings={**FIRST_NODE, "num.partitions": "2", "default.replication.factor": "2"},
        seconds_max=3600,
    ),
}
