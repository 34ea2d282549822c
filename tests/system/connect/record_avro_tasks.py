"""Asks Confluent's own AvroData about schemas and values, and writes down what it says.

`python tests/system/connect/record_avro_tasks.py CHECKOUT` (with `tests` on the path), where
CHECKOUT is a copy of Confluent's schema-registry: its jars are in no public repository. Of it only
the mapping is compiled; the few classes around it are stood in for below.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark import find_spark_home

from support.avro_tasks import avro_answer, avro_read_tasks, avro_write_tasks
from support.jars import PROJECT, connect_libraries
from system.connect.record_tasks import drawn

RECORDED = PROJECT / "tests" / "unit" / "connect" / "recorded_avro_tasks.jsonl"
_HERE = Path(__file__).parent
_MAPPING = (
    "avro-data/src/main/java/io/confluent/connect/avro/AvroData.java",
    "avro-data/src/main/java/io/confluent/connect/avro/AvroDataConfig.java",
    "schema-converter/src/main/java/io/confluent/connect/schema/AbstractDataConfig.java",
    "schema-converter/src/main/java/io/confluent/connect/schema/ConnectEnum.java",
    "schema-converter/src/main/java/io/confluent/connect/schema/ConnectUnion.java",
)
_STAND_INS = {
    "io.confluent.connect.schema.ConnectVariant": """
        public static final String LOGICAL_NAME = "variant";
        public static boolean isVariant(org.apache.kafka.connect.data.Schema s) { return false; }
        public static org.apache.kafka.connect.data.SchemaBuilder builder() { return null; }""",
    "io.confluent.avro.type.VariantConversion": """
        public org.apache.avro.Schema getRecommendedSchema() { return null; }""",
    "io.confluent.avro.type.VariantLogicalType": """
        public static final String NAME = "variant";""",
    "io.confluent.kafka.schemaregistry.avro.AvroSchema": """
        public AvroSchema(org.apache.avro.Schema schema, Integer version) {}""",
    "io.confluent.kafka.serializers.NonRecordContainer": """
        private final Object value;
        public NonRecordContainer(org.apache.avro.Schema schema, Object value) {
          this.value = value; }
        public Object getValue() { return value; }""",
}


class AvroDataOracle:
    def __init__(self, checkout: Path, classes: Path) -> None:
        jars = f"{connect_libraries()}/*:{find_spark_home._find_spark_home()}/jars/*"
        sources = [checkout / one for one in _MAPPING]
        for name, body in _STAND_INS.items():
            package, _, short = name.rpartition(".")
            sources.append(classes / f"{short}.java")
            sources[-1].write_text(f"package {package}; public class {short} {{ {body} }}")
        sources += [_HERE / "RecordOracle.java", _HERE / "AvroDataOracle.java"]
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", classes, *sources], check=True)
        self.process = subprocess.Popen(
            ["java", "-Duser.timezone=UTC", "-cp", f"{jars}:{classes}", "AvroDataOracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def answer(self, task: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as classes:
        oracle = AvroDataOracle(Path(sys.argv[1]), Path(classes))
        with RECORDED.open("w") as written:
            for task in [*drawn(avro_write_tasks(), 220), *avro_read_tasks()]:
                if "Can't redefine" in avro_answer(task).get("message", ""):
                    continue  # names that mean two things: Java takes the first for the second
                answers = [(task, oracle.answer(task))]
                if answers[0][1].get("data"):
                    back = {"do": "avro read", "config": task["config"], "version": 3}
                    back |= answers[0][1]
                    answers.append((back, oracle.answer(back)))
                for asked, answer in answers:
                    line = {"task": asked, "answer": answer}
                    written.write(json.dumps(line, separators=(",", ":")) + "\n")
        oracle.close()


if __name__ == "__main__":
    main()
