"""The README's Python runs as it stands, in order."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_examples_of_the_readme_run(repository: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (repository / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    g, schema, m = names["g"], names["schema"], names["m"]
    assert g.finish_reason in ("stop", "length")  # type: ignore[attr-defined]
    if g.finish_reason == "stop":  # type: ignore[attr-defined]
        assert set(g.value) == set(schema["properties"])  # type: ignore[attr-defined,index]
    assert abs(sum(names["outputs"].weights) - 1) < 1e-9  # type: ignore[attr-defined]
    assert not m.is_accepting()  # type: ignore[attr-defined]
