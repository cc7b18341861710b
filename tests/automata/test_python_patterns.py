"""`parse_python` against `re.fullmatch`: random patterns, all short texts."""

import itertools
import re
import warnings
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constrain.automata.parse.python import parse_python
from constrain.errors import LimitError, RegexError
from naive_regex import members

ALPHABET = "ab \n"
TEXTS = ["".join(text) for length in range(5) for text in itertools.product(ALPHABET, repeat=length)]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]
# where Python 3.10 is tested, possessive quantifiers and atomic groups are errors of `re` itself
POSSESSIVE = ["*+", "++", "?+", "{1,2}+"]

plain_atoms = st.sampled_from(
    ["a", "b", "A", " ", "\\n", ".", "[ab]", "[^a]", "\\w", "\\W", "\\s", "ab", "[^\\Wb]", ""]
)
anchors = st.sampled_from(["^", "$", "\\A", "\\Z", "\\b", "\\B"])


def patterns(atoms, groups, quantifiers):
    def extend(inner):
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            st.tuples(inner, st.sampled_from(quantifiers)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
            st.tuples(st.sampled_from(groups), inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
        )

    return st.recursive(atoms, extend, max_leaves=8)


def compare(pattern, flags, refused):
    """Members up to four characters, over the alphabet, equal those of `re`. Refusals are counted by message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, flags)
    except re.error:
        with pytest.raises(RegexError):
            parse_python(pattern, flags=flags)
        refused["not a pattern"] += 1
        return
    try:
        node = parse_python(pattern, flags=flags)
    except (RegexError, LimitError) as fault:
        refused[fault.message] += 1
        return
    refused["none"] += 1
    assert members(node, ALPHABET, 4) == {text for text in TEXTS if compiled.fullmatch(text)}


flag_sets = st.sampled_from([0, re.MULTILINE, re.DOTALL, re.IGNORECASE, re.ASCII | re.IGNORECASE | re.MULTILINE])
relaxed = settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))


def test_without_assertions():
    """Nothing is refused here."""
    refused = Counter()

    @relaxed
    @given(patterns(plain_atoms, ["(", "(?P<n>", "(?i:", "(?s-i:"], QUANTIFIERS), flag_sets)
    def check(pattern, flags):
        compare(pattern, flags, refused)

    check()
    assert set(refused) <= {"none", "not a pattern"}
    assert refused["none"] > 600


def test_with_assertions():
    """Anchors, look-around, atomic groups and possessive quantifiers: exact or refused, and mostly not refused."""
    refused = Counter()
    groups = ["(", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?m:"]

    @relaxed
    @given(patterns(st.one_of(plain_atoms, anchors), groups, QUANTIFIERS + POSSESSIVE), flag_sets)
    def check(pattern, flags):
        compare(pattern, flags, refused)

    check()
    assert refused["none"] > 350


@pytest.mark.parametrize(
    "inner",
    [
        "a",
        "a?",
        "ab|a",
        "a*",
        "(?=a)",
        "$",
        "^",
        r"\b",
        "(?!b)a",
        "a$",
        "^a",
        r"a\b",
        r"\ba",
        "(?!ab).",
        "(?!ab)(?!b )[^b]|",
        r"a\b|b",
        "a|b$",
        "^a|b",
        r"(?<!a)b|\Ba",
    ],
)
@pytest.mark.parametrize("quantifier", QUANTIFIERS)
@pytest.mark.parametrize("frame", ["{}", "(?:{})a?", "b?(?:{}) ?", "(?:{})(?<!b)", "(?!a)(?:{}).?"])
def test_every_quantifier_on(inner, quantifier, frame):
    refused = Counter()
    compare(frame.format(f"(?:{inner}){quantifier}"), 0, refused)
    assert "not a pattern" not in refused
