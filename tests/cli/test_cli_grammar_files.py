"""Grammar files on the command line: the format by the file's ending, imports from the file's folder."""

from __future__ import annotations

import pytest

from constrain.cli.constraints import SourceOptions
from reading_oracle import member

FILES = {
    "plain.lark": 'start: "a"',
    "plain.gbnf": 'root ::= "a"',
    "plain.ebnf": 'root ::= "a"\n  (= "b")',
    "unnamed": 'root ::= "a"',
    "imports.lark": "%import .letters.A\nstart: A",
    "letters.lark": 'A: "a"',
}


@pytest.mark.parametrize("name", [name for name in FILES if name != "letters.lark"])
def test_files(tmp_path, name):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    made = SourceOptions(grammar=str(tmp_path / name)).constraint().to_grammar()
    assert [text for text in ("", "a", "b", "ab") if member(made, text)] == ["a"]
