"""Reading a pattern costs what is written, whatever it counts, and deep nesting is an error with a place."""

import re

import pytest

from constrain.errors import LimitError, RegexError
from constrain.kernels.records.arena import HEADER, NONE
from constrain.languages.automata.decide import DecisionStore
from constrain.languages.automata.lower import lower
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import Concat, Repeat, intersect
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


def searching(most):
    """A store whose searches visit at most so many states."""
    store = DecisionStore()
    store.memory.search_limit = store.memory.A[HEADER.SEARCH_LIMIT] = most
    return store


@pytest.mark.parametrize("count", [5, 10, 20])
def test_patterns_that_one_text_fulfils(count):
    """A text with n words is found word by word: the search visits some 4 n states, not 2^n."""
    words = [f"{chr(97 + i)}{i % 10}" for i in range(count)]
    node = intersect(*(parse_python(f"(?s:.*{word}.*)") for word in words), parse_python("(?s:[^z]*)"))
    store = searching(8 * count)
    with store.memory.lock:
        assert lower(store, node) != NONE


def test_a_search_that_is_led_astray():
    """After "a" fewer patterns are left, and none of 5,000 states fulfils them; breadth-first search goes on beside."""
    patterns = ["(?s:a.{0,5000}|b.{3}q)", "[^~]*", "(?s:b.*|.*~.*)", "(?s:a.*|.{4}q)"]
    store = searching(60)
    with store.memory.lock:
        found = lower(store, intersect(*map(parse_python, patterns)))
        assert found != NONE and store.is_nullable(store.run(found, b"bxyzq"))
