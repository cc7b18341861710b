"""The examples of docs/howto/guided.md run, in order, and give what their comments say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from constrain.masks.derived.members import is_member


def test_the_examples(repository: Path) -> None:
    text = (repository / "docs" / "howto" / "guided.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    seen = []
    for block in blocks:
        exec(block, names)
        seen.append(dict(names))
    assert len(blocks) == 10
    assert is_member(seen[1]["numbers"], "[[1, 2" + seen[1]["g"].text + "7]]")
    assert len(seen[2]["g"].value) >= 2
    assert json.loads("[1" + seen[2]["g"].text + "9]") == seen[2]["g"].value
    last = seen[3]["last"]
    assert is_member(seen[1]["numbers"], last.prefix + "7" + last.suffix)
    assert last.prefix.startswith("[[1, " + seen[3]["g"].text)
    assert seen[4]["filled"].finish_reason == "stop" and is_member(seen[1]["numbers"], seen[4]["filled"].text)
    assert seen[5]["constraint"].parse('Let me see. <tool>{"city": "Bern"}</tool> It rains.') == [{"city": "Bern"}]
    assert seen[6]["answer"].parse("Well ... </think>yes") == "yes"
    assert seen[7]["g"].finish_reason == "length" or seen[7]["g"].stats.stop in (" ", "e")
    assert seen[8]["g"].finish_reason == "stop"
    assert is_member(seen[9]["short"], "[[1],[2,3]]") and not is_member(seen[9]["short"], "[1, 2]")
