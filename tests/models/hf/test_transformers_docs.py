"""docs/howto/transformers.md runs as it stands, and gives what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def test_the_examples_of_the_howto_run(repository: Path) -> None:
    page = (repository / "docs" / "howto" / "transformers.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/howto/transformers.md", "exec"), names)
    value = json.loads(names["text"])
    assert list(value) == ["name", "size"]
    assert value["size"] in ("small", "large")
    assert names["texts"][0] in ("small", "large")
    assert names["texts"][1] in ("red", "green", "blue")
    assert names["allowed"] == [names["end"]]
