"""Doors recognise formats of grammars, files, and names that are nearly right."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import constrain
from constrain import monitors
from constrain.languages.grammar_text.text import format_of

FORMATS = [  # text, name of the file, format
    ('root ::= "a"', "", "gbnf"),
    ('# a comment\nroot ::= "a" # b', "", "gbnf"),
    ('root[capture] ::= "a"', "", "ebnf"),
    ('root ::= TagDispatch(("<a>", b))\nb ::= "b"', "", "ebnf"),
    ('root ::= "a" (= "b")', "", "ebnf"),
    ('root ::= "(=" [^"]', "", "gbnf"),
    ('root ::= [(=] "Regex("', "", "gbnf"),
    ('root ::= "a" # (= b', "", "gbnf"),
    ('root ::= "a"', "x.ebnf", "ebnf"),
    ('start: "a"', "", "lark"),
    ('start: "::="', "", "lark"),
    ('start: "a"', "x.lark", "lark"),
    ('root ::= "a"', "x.txt", "gbnf"),
]
UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"method": "lcdd"}, "did you mean 'lcd'? Or choose one of: "),
    ({"draft": "lokup"}, "did you mean 'lookup'? Or choose one of: "),
    ({"grammar": 'strat: "a"', "regex": None}, "did you mean 'strat'? Or name one of your rules start"),
    ({"grammar": "x.gbnf", "regex": None}, "pass pathlib.Path('x.gbnf')"),
    ({"schema": "x.json", "regex": None}, "pass pathlib.Path('x.json')"),
]


@pytest.mark.parametrize(("text", "name", "format_"), FORMATS)
def test_the_format_is_recognised(text: str, name: str, format_: str, tmp_path: Path) -> None:
    assert format_of(text, name) == format_
    constraint = constrain.grammar(text)
    if not name:
        assert constraint.format == format_
        output = constrain.generate(constrain.reference.load(), "a", grammar=text, seed=0, max_tokens=8)
        assert output.finish_reason == "length" or constraint.accepts(output.text)


@pytest.mark.parametrize(
    ("name", "text"), [("a.gbnf", 'root ::= "a"'), ("a.ebnf", 'root ::= "a"'), ("a.lark", 'start: "a"')]
)
def test_generate_takes_the_file_of_a_grammar(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert constrain.generate(constrain.reference.load(), "a", grammar=tmp_path / name).text == "a"


def test_keywords_are_in_one_case_where_the_format_has_them() -> None:
    for seed in range(8):
        output = constrain.generate(constrain.reference.load(), "a", grammar='start: "select"i', seed=seed)
        assert output.text in ("select", "SELECT")


@pytest.mark.parametrize(("given", "fix"), UNKNOWN)
def test_a_name_that_is_nearly_known(given: dict[str, Any], fix: str) -> None:
    with pytest.raises(constrain.ConstrainError) as caught:
        constrain.generate(constrain.reference.load(), "a", **{"regex": "a", **given})
    assert fix in str(caught.value)


def test_the_file_of_a_database(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE customers (id, name)")
        connection.commit()
    (tmp_path / "shop.sql").write_text("CREATE TABLE customers (id, name);")
    known = monitors.sql("CREATE TABLE customers (id, name)")
    for given in (tmp_path / "shop.db", str(tmp_path / "shop.db"), tmp_path / "shop.sql"):
        assert monitors.sql(given) == known
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.db", "shop.sql"]
    with pytest.raises(constrain.ConstrainError, match="there is no database"):
        monitors.sql(str(tmp_path / "other.sqlite"))
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be read as one" * 20)
    with pytest.raises(constrain.ConstrainError, match="is no database that SQLite reads"):
        monitors.sql(tmp_path / "text.db")


@pytest.mark.parametrize(
    ("prompt", "fix"),
    [
        ('Return {"name": 1} for {input}', r'double the braces that are text, as in \{\{"name": \.\.\.\}\}'),
        ("Return {inptu}", "did you mean 'input'"),
        ("Return {", "double the braces that are text"),
        ("Return {input.name}", "the columns are input"),
    ],
)
def test_braces_of_a_prompt(prompt: str, fix: str) -> None:
    with pytest.raises(constrain.ConstrainError, match=fix):
        constrain.map(constrain.reference.load(), ["x"], prompt=prompt, regex="a")


def test_choices_are_told() -> None:
    words = {
        ("a", "b"): "Answer with one of these and nothing else: a, b",
        ("a",): "Answer with this text and nothing else: a",
        ("a, b", "c"): "Answer with one of these texts and nothing else:\n- a, b\n- c",
        (" a", "c"): 'Answer with one of these texts, without the quotes, and nothing else:\n- " a"\n- "c"',
    }
    for options, text in words.items():
        assert constrain.describe(constrain.choices(options)) == text
    prompt = constrain.Prompt([{"role": "user", "content": "x"}], describe=True)
    assert constrain.generate(constrain.reference.load(), prompt, choices=["yes", "no"]).text in ("yes", "no")
