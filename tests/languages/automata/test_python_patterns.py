"""`parse_python` against `re.fullmatch`: random patterns, all short texts."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pattern_strategies import (
    POSSESSIVE,
    QUANTIFIERS,
    REGEX_GROUPS,
    SET_ATOMS,
    anchors,
    compare,
    flag_sets,
    patterns,
    plain_atoms,
)

from constrain.languages.automata.parse.python import parse_python
from reading_oracle import members
from tables import table

TABLE = table("python_patterns")

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


@pytest.mark.parametrize("inner", TABLE["inner"])
@pytest.mark.parametrize("quantifier", QUANTIFIERS)
@pytest.mark.parametrize("frame", ["{}", "(?:{})a?", "b?(?:{}) ?", "(?:{})(?<!b)", "(?!a)(?:{}).?"])
def test_every_quantifier_on(inner, quantifier, frame):
    refused = Counter()
    compare(frame.format(f"(?:{inner}){quantifier}"), 0, refused)
    assert "not a pattern" not in refused


LINKED = TABLE["linked"]


@pytest.mark.parametrize(("pattern", "alphabet", "longest"), LINKED, ids=[row[0] for row in LINKED])
def test_a_copy_that_sees_one_character_of_the_next(pattern, alphabet, longest):
    """Every text up to a length, over the characters that the pattern tells apart."""
    compiled = re.compile(pattern)
    every = ("".join(text) for length in range(longest + 1) for text in itertools.product(alphabet, repeat=length))
    expected = {text for text in every if compiled.fullmatch(text)}
    assert members(parse_python(pattern), alphabet, longest) == expected
    assert len(expected) > 5


def test_random_loops_of_linked_copies():
    """Bodies of copies with an assertion at their edges: exact or refused, and mostly not refused."""
    refused = Counter()
    before = st.sampled_from(["", "", "(?<=a)", "(?<!b)", "(?<![ab])", "^", r"\b"])
    text = st.sampled_from(["a", "b", "[ab]", "ab", "b?", " ", "a+", r"\n"])
    after = st.sampled_from(["", "", "(?=b)", "(?!a)", "$", r"\b", "(?! )"])
    body = st.lists(st.tuples(before, text, after).map("".join), min_size=1, max_size=3).map("|".join)
    counts = st.sampled_from(["*", "+", "{2,}", "{0,6}"])

    @relaxed
    @given(st.tuples(st.sampled_from(["", "a?", "b"]), body, counts, st.sampled_from(["", "b?", "$"])), flag_sets)
    def check(parts, flags):
        start, inside, count, end = parts
        compare(f"{start}(?:{inside}){count}{end}", flags, refused)

    check()
    assert refused["none"] > 600, refused


def test_patterns_of_the_package_regex():
    """Sets in classes, POSIX classes, properties, named groups, conditions: as `regex`, or refused."""
    pytest.importorskip("regex")
    refused = Counter()
    groups = ["(", "(?=", "(?!", "(?>", "(?i:", *REGEX_GROUPS]

    @relaxed
    @given(patterns(st.one_of(plain_atoms, st.sampled_from(SET_ATOMS)), groups, QUANTIFIERS + POSSESSIVE), flag_sets)
    def check(pattern, flags):
        compare(pattern, flags, refused)

    check()
    assert refused["none"] > 300, refused


def test_random_sets_in_classes():
    """Operators, sets inside of sets, brackets and hyphens anywhere: as `regex` where it reads a set, else as `re`."""
    pytest.importorskip("regex")
    refused = Counter()
    pieces = st.sampled_from(
        [*"ab \n[]^-&|~", "a-b", "--", "&&", "||", "~~", "[", "]", "[a", "[^b", "\\n", "[:alpha:]", "\\w"]
    )

    @relaxed
    @given(st.lists(pieces, min_size=1, max_size=7).map(lambda inside: f"[{''.join(inside)}]"))
    def check(pattern):
        compare(pattern, 0, refused)

    check()
    assert refused["none"] > 300, refused
