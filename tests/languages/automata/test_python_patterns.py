"""`parse_python` against `re.fullmatch`: random patterns, all short texts."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pattern_strategies import POSSESSIVE, QUANTIFIERS, anchors, compare, flag_sets, patterns, plain_atoms

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
