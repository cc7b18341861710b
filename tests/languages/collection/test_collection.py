"""Every folder of `grammars/`: it is complete, its members are accepted from byte to byte, the other texts are not."""

from pathlib import Path

import pytest

import constrain
from constrain.cli.grammar_examples import Example, failures, read_examples
from constrain.errors import GrammarError
from constrain.languages.collection import GrammarFolder
from constrain.languages.collection.folder import KEYS

FOLDERS = [constrain.collection.folder(name) for name in constrain.collection.names()]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> GrammarFolder:
    return request.param


def test_a_folder_is_complete(folder: GrammarFolder) -> None:
    assert folder.description
    assert folder.settings.get("lexer") in ("dynamic", "greedy"), "the lexer is a choice: make it"
    readme = (folder.path / "README.md").read_text(encoding="utf-8")
    for word in ("**Source:**", "**Lexer:**", "**Measured:**", "**Gaps:**"):
        assert word in readme


def test_examples(folder: GrammarFolder) -> None:
    examples = [*read_examples(folder.path / "accept", True), *read_examples(folder.path / "reject", False)]
    assert not [str(failure) for failure in failures(folder.constraint(), examples)]


def test_every_folder_with_a_grammar_is_in_the_collection(repository: Path) -> None:
    assert [path.parent.name for path in sorted((repository / "grammars").glob("*/grammar.*"))] == [
        folder.name for folder in FOLDERS
    ]


def test_load() -> None:
    constraint = constrain.collection.load("json")
    assert constraint == constrain.collection.folder("json").constraint()
    assert constrain.collection.load("json", lexer="greedy") != constrain.collection.load("json", lexer="dynamic")
    with pytest.raises(GrammarError, match=r"no grammar 'no_such' in the collection; there are .*json"):
        constrain.collection.load("no_such")


def own_folder(path: Path, settings: str | None = None) -> Path:
    (path / "grammar.lark").write_text('root: A "b"\nA: /a+b?/\n')
    if settings is not None:
        (path / "settings.json").write_text(settings)
    for name, lines in (("accept", "ab\nabb\n\naab"), ("reject", "a\nb\nabbb\n")):
        (path / name).mkdir()
        (path / name / "short.lines").write_text(lines)
    return path


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    folder = constrain.collection.read_folder(own_folder(tmp_path, '{"start": "root"}'))
    (tmp_path / "accept" / "whole.txt").write_text("ab\n")
    accept = list(read_examples(tmp_path / "accept", True))
    assert [(e.name, e.text) for e in accept] == [
        ("accept/short.lines:1", b"ab"),
        ("accept/short.lines:2", b"abb"),
        ("accept/short.lines:4", b"aab"),
        ("accept/whole.txt", b"ab\n"),
    ]
    assert list(map(str, failures(folder.constraint(), accept))) == ["accept/whole.txt: refused at byte 3"]
    greedy = failures(folder.constraint(lexer="greedy"), accept)  # the longest A takes the b
    assert next(map(str, greedy)) == "accept/short.lines:1: refused as unfinished"
    rejected = Example("it", b"ab", False)
    assert list(map(str, failures(folder.constraint(), [rejected]))) == ["it: accepted"]


@pytest.mark.parametrize(
    "settings, message",
    [("{", "settings.json is not JSON"), ("[]", "not an object"), ('{"strat": "root"}', "unknown key 'strat'")],
)
def test_bad_settings(tmp_path: Path, settings: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        constrain.collection.read_folder(own_folder(tmp_path, settings))


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(GrammarError, match="has no grammar"):
        constrain.collection.read_folder(tmp_path)
    (tmp_path / "accept").mkdir()
    with pytest.raises(GrammarError, match="has no examples"):
        list(read_examples(tmp_path / "accept", True))
    (tmp_path / "grammar.lark").write_text('start: "a"')
    (tmp_path / "grammar.gbnf").write_text('root ::= "a"')
    with pytest.raises(GrammarError, match="has two grammars"):
        constrain.collection.read_folder(tmp_path)


def test_every_key_is_used_or_documentation(folder: GrammarFolder) -> None:
    assert folder.settings.keys() <= KEYS.keys()
