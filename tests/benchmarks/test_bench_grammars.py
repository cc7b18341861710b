"""The benchmark of grammars: it finds what is wrong with a grammar, and its changes and oracles are what they say."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import constrain
from languages import corpora, oracles, speed, summary, verdicts
from languages.corpora.writing import REFERENCE, Writer, read_table
from masks import vocabularies

TEXTS = [
    (str(i), json.dumps(value).encode()) for i, value in enumerate([[1, 2], {"a": [True, None]}, "x", -1.5e3, [[]]])
]


def judged(grammar: str) -> dict:
    records = list(verdicts.judge(constrain.grammar(grammar), TEXTS, oracles.json, seed=1, changes=400))
    return summary.row("json", "json", records, 0, [])


def test_json_agrees() -> None:
    row = judged(constrain.collection.folder("json").text)
    assert row["texts"] == row["accepted"] == row["cut_anywhere"] == len(TEXTS)
    assert row["agree"] == row["compared"] > 1500


@pytest.mark.parametrize(
    "change, refused",
    [
        (('"[" [elements] "]"', '"[" [elements] [","] "]"'), False),  # too much
        (('| "true"', ""), True),  # too little
        (("(0|[1-9][0-9]*)", "[0-9]+"), False),  # zeros before a number
    ],
)
def test_a_wrong_grammar_is_found(change: tuple[str, str], refused: bool) -> None:
    text = constrain.collection.folder("json").text
    assert change[0] in text
    row = judged(text.replace(*change))
    assert (row["accepted"] < len(TEXTS)) == refused
    assert row["agree"] < row["compared"]


def test_disagreements_are_listed() -> None:
    text = constrain.collection.folder("json").text.replace("(0|[1-9][0-9]*)", "[0-9]+")
    records = list(verdicts.judge(constrain.grammar(text), TEXTS, oracles.json, seed=1, changes=400))
    shown = summary.failings("json", records, [])
    assert "disagreements: " in shown and "that we accept" in shown and "accepted, oracle refuses" in shown


def test_what_an_oracle_leaves_open_is_not_compared() -> None:
    records = list(verdicts.judge(constrain.collection.load("json"), TEXTS, lambda text: None, seed=1, changes=9))
    row = summary.row("json", "x", records, 0, [])
    assert (row["compared"], row["agree"]) == (0, 0) and row["beyond"] > 0


def test_mutants_change_one_byte_in_order() -> None:
    text = b'{"a": [1, 2, 3]}'
    found = list(verdicts.mutants(text, Random(3), 200))
    assert len(found) == 200
    assert [mutant.at for mutant in found] == sorted(mutant.at for mutant in found)
    for mutant in found:
        changed = text[: mutant.at] + mutant.rest
        assert changed != text
        assert abs(len(changed) - len(text)) <= 1
        common = len(mutant.rest) - 1 if len(changed) >= len(text) else len(mutant.rest)
        assert text.endswith(mutant.rest[len(mutant.rest) - common :])
    assert found == list(verdicts.mutants(text, Random(3), 200))


def test_every_setting_names_an_oracle() -> None:
    for name in constrain.collection.names():
        oracle = constrain.collection.folder(name).settings.get("oracle")
        if oracle is not None:
            assert oracle in oracles.HOMES or oracle.startswith(oracles.TREE_SITTER)
    with pytest.raises(ValueError, match="there is no oracle 'cobol'"):
        oracles.find("cobol")
    with pytest.raises(oracles.MissingError, match="not installed"):
        oracles.find("tree-sitter-no-such-language")


def test_a_corpus_of_ones_own(tmp_path: Path) -> None:
    for name, text in (("a.json", "[1]"), ("b.json", "[1"), ("c.txt", "[]"), ("d.json", '"\\u00e9"')):
        (tmp_path / name).write_text(text)
    folder = constrain.collection.folder("json")
    texts, refused = corpora.gather(folder, oracles.json, corpus=tmp_path, seed=0, limit=9)
    assert ([name for name, _ in texts], refused) == (["a.json", "d.json"], 1)


@pytest.mark.parametrize("path", sorted(Path(corpora.__file__).parent.glob("*.toml")), ids=lambda path: path.stem)
def test_what_rules_write_the_grammar_takes(path: Path) -> None:
    """Every rule that a table names is there, and the grammar refuses none of the texts that the oracle takes."""
    table = read_table(path)
    folder, rules = constrain.collection.folder(path.stem), table.get("rules", {})
    for alternatives in rules.values():
        named = {found[0] for each in alternatives for found in REFERENCE.findall(each)}
        assert named <= {*rules, "word", "number", "sp", "#", "phrase"}
    try:
        oracle = oracles.find(folder.settings["oracle"]) if folder.settings["oracle"] else None
    except oracles.MissingError:
        oracle = None
    writer, constraint = Writer(rules, Random(1)), folder.constraint()
    texts = [corpora._spread(writer.text(), table, Random(2)).encode() for _ in range(12 if rules else 0)]
    kept = [text for text in texts if oracle is None or oracle(text)]
    assert len(kept) >= len(texts) / 4 and [text for text in kept if not constraint.accepts(text)] == []


def test_the_command(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.json").write_text('{"a": [1, 2.5e3, "b"]}')
    command = [sys.executable, repository / "benchmarks" / "grammars.py", "json", "--corpus", tmp_path / "corpus"]
    command += ["--engines", "", "--mutants", "40", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| `json` | json | 1 | 0 | all | all | 100.00% (" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["json.json.gz", "settings.json", "summary.md"]


def test_a_run_goes_on_and_writes_a_page(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.json").write_text("[1]")
    command = [sys.executable, repository / "benchmarks" / "grammars.py", "json", "--corpus", tmp_path / "corpus"]
    command += ["--engines", "", "--mutants", "9", "--out", tmp_path / "out", "--page", tmp_path / "page.md"]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 2  # holds a run
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout
    assert "json: " in first.stderr and "json: " not in again.stderr
    page = (tmp_path / "page.md").read_text()
    assert "| `json` | json | 1 |" in page
    assert "[json](diagrams/json.html)" in page
    assert "no engine was timed" in page


def test_an_engine_that_finished_no_text_has_no_second_time() -> None:
    times = {"engine": "slow", "version": "1", "error": None, "compile_us": 1.0, "accepted": 0, "refused": []}
    text = {"bytes": 1, "accepted": True, "allowed": 1, "mutants": 0, "agree": 0, "beyond": 0}
    row = summary.row("json", "json", [text], 0, [times | {"first_us": [9.0], "second_us": []}])
    assert "| 0 of 0, 9.0, — |" in summary.table([row], ["slow"])


def test_a_grammar_is_timed() -> None:
    """All tokens of texts are read twice, each time with its mask, and every text is accepted."""
    vocabulary = vocabularies.load("bytes", Path())
    engines = {"constrain": speed.make("constrain", vocabulary)}
    [record] = speed.measure(engines, vocabulary, constrain.collection.folder("json"), TEXTS, 20.0)
    assert (record["error"], record["accepted"], record["refused"]) == (None, len(TEXTS), [])
    tokens = sum(len(text) for _, text in TEXTS)
    assert all(len(record[each]) >= tokens for each in speed.PASSES)
