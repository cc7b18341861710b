"""Reading a pattern costs what is written, whatever it counts, and deep nesting is an error with a place."""

import re

import pytest

from constrain.automata.parse.ecma import parse_ecma
from constrain.automata.parse.python import parse_python
from constrain.automata.syntax import Concat, Repeat
from constrain.errors import LimitError, RegexError
from work import counted


@pytest.mark.parametrize("parse", [parse_python, parse_ecma])
@pytest.mark.parametrize(
    "pattern",
    [
        "(a?){500}a{500}",
        ".{0,100000}",
        "(x+x+)+y",
        r"^(?=.{0,5000}\d)(\w{1,900}\.?){1,1000}$",
        "[\U00010000-\U0010ffff]{9}",
    ],
)
def test_work_is_that_of_the_written(parse, pattern):
    """The work is that of the same pattern with small counters; 4,000 calls are about a millisecond."""
    small = re.sub(r"\d{3,6}", "9", pattern)
    parse(small), parse(pattern)  # fills the caches of classes
    work = counted(parse, pattern)[1]
    assert work < 5000
    assert work < 1.2 * counted(parse, small)[1] + 50


def test_counts_are_not_written_out():
    node = parse_python("(a?){500}a{500}")
    assert isinstance(node, Concat)
    assert [(part.low, part.high) for part in node.args if isinstance(part, Repeat)] == [(0, 500), (500, 500)]


@pytest.mark.parametrize("parse", [parse_python, parse_ecma])
@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "(" * 5000, "(?=" * 3000, "(?:a|" * 2000])
def test_deep_nesting(parse, pattern):
    with pytest.raises(LimitError, match="more than 200 groups inside each other"):
        parse(pattern)


@pytest.mark.parametrize("parse", [parse_python, parse_ecma])
def test_nesting_below_the_limit(parse):
    assert hash(parse("(?:a|" * 150 + "b" + "c+)*" * 150))
    assert hash(parse("(?=a" * 60 + ")" * 60))


@pytest.mark.parametrize("parse", [parse_python, parse_ecma])
def test_too_many_combinations(parse):
    with pytest.raises(LimitError, match="more than 2000 combinations of assertions"):
        parse(r"(\b|x)" * 12 + r"(?<=y)")


def test_long_patterns():
    text = "word " * 20_000
    assert parse_python(text).texts == (text,)
    with pytest.raises(RegexError, match="column 100003"):
        parse_python(text + "*?*")
