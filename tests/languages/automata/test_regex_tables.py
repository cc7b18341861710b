"""Patterns of both dialects with members, non-members and error messages, as data."""

import re
import tomllib
from pathlib import Path

import pytest
from pattern_strategies import meaning

import constrain
import reading_oracle
from constrain.errors import RegexError
from constrain.languages.automata.decide import matches
from constrain.languages.automata.parse.assertions import sequence
from constrain.languages.automata.parse.ecma import EcmaParser, parse_ecma
from constrain.languages.automata.parse.parser import finish_pattern
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.parse.sets import Flags
from constrain.languages.automata.syntax import ANY_TEXT

DATA = Path(__file__).parents[2] / "data"


def rows(name):
    table = tomllib.loads((DATA / name).read_text(encoding="utf-8"))["pattern"]
    return [pytest.param(row, id=row["pattern"]) for row in table]


def check(parse, row):
    if "error" in row:
        with pytest.raises(RegexError) as caught:
            parse(row["pattern"])
        assert str(caught.value) == row["error"].removeprefix("\n")
        return
    node = parse(row["pattern"])
    wrong = [text for text in row.get("accepts", []) if not reading_oracle.matches(node, text)]
    wrong += [text for text in row.get("rejects", []) if reading_oracle.matches(node, text)]
    assert not wrong
    assert row.get("accepts") or row.get("rejects"), "a row must say something"


def python_flags(row):
    return sum(getattr(re, letter) for letter in row.get("flags", ""))


@pytest.mark.parametrize("row", rows("regex_python.toml"))
def test_python(row):
    check(lambda pattern: parse_python(pattern, flags=python_flags(row)), row)


@pytest.mark.parametrize("row", [row for row in rows("regex_python.toml") if "error" not in row.values[0]])
def test_the_python_table_is_right(row):
    compiled = meaning(row["pattern"], python_flags(row))
    if compiled is None:
        pytest.skip("needs the package regex")
    assert isinstance(compiled, re.Pattern) == ("reader" not in row)
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


ECMA_WHOLE = [
    (r"\u{1F600}", ["😀"], ["", "u{1F600}", "😀😀"]),
    (r"\cJ[\cI-\cJ]", ["\n\t", "\n\n"], ["cJcI", "\n"]),
    (r"(?<year>\d{2})-(?<month>\d)", ["12-3"], ["12-34", "x12-3", "١٢-٣"]),
    (r"[^][]?", ["\n", "a", "😀"], ["", "ab"]),
    (r"a|bc", ["a", "bc"], ["abc", "ac", "xa"]),
    (r"^a.$", ["ab"], ["a\n", "a", "abc"]),
    (r"\w\s", ["a\u00a0", "_\t"], ["é ", "a"]),
]


@pytest.mark.parametrize(("pattern", "members", "others"), ECMA_WHOLE)
def test_ecma_patterns_of_whole_texts(pattern, members, others):
    node = constrain.regex(pattern, dialect="ecma").node
    assert [text for text in members if not matches(node, text)] == []
    assert [text for text in others if matches(node, text)] == []


@pytest.mark.parametrize(
    ("pattern", "dialect", "message"),
    [
        ("a", "perl", "unknown dialect 'perl'"),
        (re.compile("a"), "ecma", "a compiled pattern is in Python's syntax"),
        (r"(?<n>a)\k<n>", "ecma", "a backreference is not regular"),
        (r"\u{110000}", "ecma", "a code point needs hexadecimal digits up to 10FFFF"),
    ],
)
def test_faults_of_dialects(pattern, dialect, message):
    with pytest.raises(constrain.RegexError, match=re.escape(message)):
        constrain.regex(pattern, dialect=dialect)


CAPTURES = [
    (r"(?P<y>\d{4})-(?P<m>é|\d\d)", "2024-é", [("y", "2024", 0, 4), ("m", "é", 5, 6)]),
    (r"(?<outer>a(?P<inner>b)?)", "a", [("outer", "a", 0, 1)]),
    ("a", "a", []),
    (r"(?P<y>\d{4})", "20", []),
]


@pytest.mark.parametrize(("pattern", "text", "found"), CAPTURES)
def test_captures_of_named_groups(pattern, text, found):
    assert [tuple(each) for each in constrain.regex(pattern).captures(text)] == found


@pytest.mark.parametrize(
    "pattern", ["^ab?$", "^a", "a$", "a", "^", "$", "^$", "^a|b$", "^(a|b)$", r"^\bab\b$", "$^", "(?m)^a$"]
)
def test_what_is_found_between_both_ends_is_what_solving_the_ends_gives(pattern):
    """`anywhere` leaves out ends of the whole text; the reference eliminates them as any other assertion."""
    parser = EcmaParser(pattern, Flags())
    tree = parser.read()
    assert parse_ecma(pattern) == finish_pattern(parser, sequence([ANY_TEXT, tree, ANY_TEXT]))
