"""Patterns of both dialects with members, non-members and error messages, as data."""

import re
import tomllib
from pathlib import Path

import pytest

from constrain.automata.parse.ecma import parse_ecma
from constrain.automata.parse.python import parse_python
from constrain.errors import RegexError
from naive_regex import NaiveRegex

DATA = Path(__file__).parent.parent / "data"


def rows(name):
    table = tomllib.loads((DATA / name).read_text(encoding="utf-8"))["pattern"]
    return [pytest.param(row, id=row["pattern"]) for row in table]


def check(parse, row):
    if "error" in row:
        with pytest.raises(RegexError) as caught:
            parse(row["pattern"])
        assert str(caught.value) == row["error"].removeprefix("\n")
        return
    regex = NaiveRegex(parse(row["pattern"]))
    wrong = [text for text in row.get("accepts", []) if not regex.matches(text)]
    wrong += [text for text in row.get("rejects", []) if regex.matches(text)]
    assert not wrong
    assert row.get("accepts") or row.get("rejects"), "a row must say something"


def python_flags(row):
    return sum(getattr(re, letter) for letter in row.get("flags", ""))


@pytest.mark.parametrize("row", rows("regex_python.toml"))
def test_python(row):
    check(lambda pattern: parse_python(pattern, flags=python_flags(row)), row)


@pytest.mark.parametrize("row", [row for row in rows("regex_python.toml") if "error" not in row.values[0]])
def test_the_python_table_is_right(row):
    compiled = re.compile(row["pattern"], python_flags(row))
    assert [text for text in row.get("accepts", []) if not compiled.fullmatch(text)] == []
    assert [text for text in row.get("rejects", []) if compiled.fullmatch(text)] == []


@pytest.mark.parametrize("row", rows("regex_ecma.toml"))
def test_ecma(row):
    check(parse_ecma, row)


@pytest.mark.parametrize("pattern", [b"a", 3, None])
def test_a_pattern_is_a_text(pattern):
    with pytest.raises(RegexError):
        parse_python(pattern)


def test_locale_is_refused():
    with pytest.raises(RegexError, match="LOCALE"):
        parse_python("a", flags=re.LOCALE)
