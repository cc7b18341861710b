"""The README's Python runs as it stands, in order."""

from __future__ import annotations

from page_blocks import ran


def test_the_examples_of_the_readme_run() -> None:
    names = ran("README.md", 4)[-1]
    g, schema, m = names["g"], names["schema"], names["m"]
    assert g.finish_reason in ("stop", "length")
    if g.finish_reason == "stop":
        assert set(g.value) == set(schema["properties"])
    assert abs(sum(names["outputs"].weights) - 1) < 1e-9
    assert not m.is_accepting()
