"""Lark grammars in files: relative imports, faults inside imported files; declared symbols and what binds them."""

from pathlib import Path

import pytest

from constrain.errors import GrammarError
from constrain.languages.automata.syntax import literal
from constrain.languages.cfg.ebnf import Leaf
from constrain.languages.cfg.readers.lark_reader import read_lark, read_rules
from constrain.languages.cfg.rules import Terminal
from constrain.languages.grammar_text.text import grammar
from reading_oracle import member

FILES = {
    "main.lark": "%import .parts.words (NAME, _MARK)\n%import .parts.words.greeting -> hello\n"
    "start: hello NAME _MARK\n",
    "parts/words.lark": '%import .marks._MARK\n%import common.LCASE_LETTER\ngreeting: "hi " | _other\n'
    '_other: "yo "\nNAME: LCASE_LETTER+\n',
    "parts/marks.lark": '_MARK: "!" | "?"\n',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def is_member(constraint, text: str) -> bool:
    return member(constraint.to_grammar(), text)


def test_a_path_is_read_with_its_imports(folder):
    constraint = grammar(folder / "main.lark")
    texts = ("hi bob!", "yo eve?", "hi !", "hi bob", "bob!")
    assert [text for text in texts if is_member(constraint, text)] == ["hi bob!", "yo eve?"]


def test_a_text_is_read_with_a_base(folder):
    text = "start: greeting\n%import .words.greeting"
    assert is_member(grammar(text, base=folder / "parts"), "yo ")
    assert grammar(text, base=folder / "parts") == grammar(text, base=str(folder / "parts"))


def test_a_changed_file_is_read_again(folder):
    text = "start: _MARK\n%import .marks._MARK"
    assert not is_member(grammar(text, base=folder / "parts"), ";")
    (folder / "parts/marks.lark").write_text('_MARK: ";"\n')
    assert is_member(grammar(text, base=folder / "parts"), ";")


@pytest.mark.parametrize(
    "broken, message, place",
    [
        ('_MARK: "!" | "?\n', "this string is not closed", 'parts/marks.lark, line 1, column 14\n_MARK: "!" | "?'),
        ("_MARK: NONE\n", "NONE is used but not defined", "parts/marks.lark, line 1, column 8\n_MARK: NONE"),
        ('_MARK: "!"\n_MARK: "?"\n', "_MARK is defined more than once", "parts/marks.lark, line 2, column 1\n_MARK"),
    ],
)
def test_a_fault_in_an_imported_file_is_shown_there(folder, broken, message, place):
    (folder / "parts/marks.lark").write_text(broken)
    with pytest.raises(GrammarError) as caught:
        grammar(folder / "main.lark")
    assert caught.value.message == message
    assert caught.value.place.startswith(f"{folder / 'parts'}".removesuffix("parts") + place), caught.value.place


def test_a_name_that_an_imported_file_lacks_is_shown_there(folder):
    (folder / "parts/words.lark").write_text('greeting: "a" none\n_MARK: "!"\nNAME: "b"\n')
    with pytest.raises(GrammarError, match=r"^none is used but not defined") as caught:
        grammar(folder / "main.lark")
    assert caught.value.place.startswith(f"{folder / 'parts' / 'words.lark'}, line 1, column 15")


def test_a_file_that_is_not_there(folder):
    (folder / "parts/marks.lark").unlink()
    with pytest.raises(GrammarError, match="cannot find the grammar file"):
        grammar(folder / "main.lark")
    with pytest.raises(FileNotFoundError):
        grammar(folder / "other.lark")
    (folder / "main.lark").write_bytes(b"start: \xff")
    with pytest.raises(GrammarError, match="not UTF-8"):
        grammar(folder / "main.lark")


BLOCKS = """
start: _NL? block
block: "a" | "if" _NL _INDENT block _DEDENT
unused: other "x"
_NL: /\\n+/
%declare _INDENT _DEDENT other
"""


def test_declared_symbols_are_names_without_a_rule():
    rules = read_rules(BLOCKS)
    assert rules.declared == ("_INDENT", "_DEDENT", "other")
    assert rules.terminals.keys() == {"_NL"}
    with pytest.raises(GrammarError, match="_INDENT is declared without a definition") as caught:
        rules.reading("dynamic")
    assert caught.value.place.startswith("line 3, column 23")


def test_declared_symbols_can_be_bound():
    brackets = {"_INDENT": Leaf(Terminal(literal("{"))), "_DEDENT": Leaf(Terminal(literal("}")))}
    reading = read_rules(BLOCKS).bound(brackets).reading("dynamic")
    assert member(reading.grammar, "if\n{if\n{a}}")
    assert not member(reading.grammar, "if\na")
    assert "rule unused derives no text; alternatives that use it were dropped" in reading.findings


def test_a_declared_symbol_out_of_reach_is_no_fault():
    reading = read_lark('start: "a"\nother: _INDENT "b"\n%declare _INDENT')
    assert member(reading.grammar, "a")
    assert reading.findings[0].startswith("rule other derives no text")


@pytest.mark.parametrize("imported", [".secret.A", "secret.A"])
def test_nothing_of_the_working_directory_is_read(imported, tmp_path, monkeypatch):
    (tmp_path / "secret.lark").write_text('A: "a"\nthis is no grammar')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GrammarError, match=r"a folder that is not given|cannot find the grammar file") as caught:
        grammar(f"start: A\n%import {imported}")
    assert "this is no grammar" not in str(caught.value)
    with pytest.raises(GrammarError, match="this is no grammar" if imported[0] == "." else "cannot find"):
        grammar(f"start: A\n%import {imported}", base=".")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.lark").write_text('A: "a"\nthis is no grammar')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "linked.lark").symlink_to(tmp_path / "secret.lark")
    (tmp_path / "folder" / "inside.lark").write_text('A: "a"')
    (tmp_path / "folder" / "alias.lark").symlink_to(tmp_path / "folder" / "inside.lark")
    (tmp_path / "also").symlink_to(tmp_path / "folder", target_is_directory=True)
    message = r"'linked.lark' leads out of the folder of the grammar\n  at line 2"
    with pytest.raises(GrammarError, match=message) as caught:
        grammar("start: A\n%import .linked.A", base=tmp_path / "folder")
    assert "no grammar" not in str(caught.value)
    for folder in ("folder", "also"):
        assert is_member(grammar("start: A\n%import .alias.A", base=tmp_path / folder), "a")
