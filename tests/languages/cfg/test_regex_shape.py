"""Lazy quantifiers and look-around in terminals: what is recognised, and that the language is what `re` matches."""

import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constrain.errors import GrammarError
from constrain.languages.cfg.readers.regex_priority import preferred_texts
from constrain.languages.cfg.readers.regex_shape import (
    has_greedy_after_lazy,
    is_lazy,
    needs_neighbours,
    sees_outside,
    split_after_lazy,
)
from constrain.languages.grammar_text.text import grammar
from reading_oracle import matches, members, texts
from tables import table

TABLE = table("regex_shapes")


@pytest.mark.parametrize("pattern, lazy, neighbours", TABLE["laziness"])
def test_pieces(pattern, lazy, neighbours):
    assert is_lazy(pattern) == lazy
    assert needs_neighbours(pattern) == neighbours


@pytest.mark.parametrize("pattern, outside", TABLE["neighbours"])
def test_what_looks_over_the_edge(pattern, outside):
    assert list(sees_outside(pattern)) == outside


@pytest.mark.parametrize("pattern, mixed", TABLE["edges"])
def test_greedy_after_lazy(pattern, mixed):
    assert has_greedy_after_lazy(pattern) == mixed


@pytest.mark.parametrize("pattern, expected", TABLE["splits"])
def test_splitting(pattern, expected):
    assert list(split_after_lazy(pattern)) == expected


LAZY = TABLE["pairs"]


ORDERED = TABLE["wholes"]


@pytest.mark.parametrize("pattern", LAZY + ORDERED)
def test_a_lazy_terminal_is_what_re_matches(pattern):
    """A text is a lexeme iff `re.match` on it alone ends at its end."""
    made = grammar(f"start: /{pattern.replace('/', chr(92) + '/')}/").to_grammar()
    [[terminal]] = made.start.expand()
    alphabet = "".join(sorted(set("abci\"'*/\\") & set(pattern))) or "ab"
    found = 0
    for text in texts(alphabet, 6 if len(alphabet) < 5 else 5):
        match = re.match(pattern, text)
        expected = match is not None and match.end() == len(text)
        assert matches(terminal.node, text) == expected, text
        found += expected
    assert found > 1


@pytest.mark.parametrize("pattern", ["ca*?b+(?<!aab)c*", "(a*?b*)*c*", r"ab*?(\Bc*)b"])
def test_what_cannot_be_followed_is_refused(pattern):
    """Longer look-around, repetition of what may be empty, word boundaries."""
    with pytest.raises(GrammarError, match="a lazy quantifier is followed by a part that may be longer or shorter"):
        grammar(f"start: /{pattern}/")


def test_random_lazy_patterns():
    """Each is refused, or is what `re` matches: of all texts up to five characters, none differs."""
    followed = Counter()
    atoms = st.sampled_from(["a", "b", "[ab]", "ab", "c", "[^a]", "."])

    def extend(inner):
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
            st.tuples(inner, st.sampled_from(["*?", "+?", "??", "{1,2}?", "*", "+", "?", "{2}"])).map(
                "(?:{0[0]}){0[1]}".format
            ),
            inner.map("{0}(?!a)c?".format),
            inner.map("(?<=b){0}".format),
        )

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.recursive(atoms, extend, max_leaves=7))
    def check(pattern):
        node = preferred_texts(pattern)
        followed[node is not None] += 1
        expected = {text for text in texts("abc", 5) if (found := re.match(pattern, text)) and found.end() == len(text)}
        assert node is None or members(node, "abc", 5) == expected

    check()
    assert followed[True] > 100
