"""The tutorial's snippets, run in order as one program."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("driven")
def test_every_snippet_of_the_tutorial_runs() -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(snippets) >= 5
    namespace: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), namespace)
