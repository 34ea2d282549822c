"""What the page about the registry says of pipelines runs on Spark, after what comes before it."""

import re
from pathlib import Path
from typing import Any

import ottla

PAGE = Path(__file__).parents[3] / "docs" / "registry.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_pages_pipelines_do_what_it_says(driven: str) -> None:
    settings = {"kafkastore.topic": "_schemas-page", "schema.registry.group.id": "sr-page"}
    with ottla.Registry(driven, settings=settings) as registry:
        names: dict[str, Any] = {}
        for text in PYTHON.findall(PAGE.read_text()):
            text = text.replace("http://127.0.0.1:8081", registry.url)
            exec(compile(text.replace("127.0.0.1:9092", driven), str(PAGE), "exec"), names)
        assert "found" in names, "the application was driven"
