"""Lazy quantifiers and look-around in terminals: what is recognised, and that the language is what `re` matches."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "pattern, lazy, neighbours",
    [
        ("a*", False, False),
        ("a*?", True, False),
        ("a??b", True, False),
        ("a{1,2}?", True, False),
        (r"\*?", False, False),
        (r"[*?]?", False, False),
        (r"[]*?]+", False, False),
        (r"(?:a)?", False, False),
        (r"\}?", False, False),
        ("(?=a)b", False, True),
        (r"(?<!\\)b", False, True),
        (r"a\b", False, True),
        (r"\\b", False, False),
        ("[$^]", False, False),
        ("a$", False, True),
        ("(?P<n>a)", False, False),
    ],
)
def test_pieces(pattern, lazy, neighbours):
    assert is_lazy(pattern) == lazy
    assert needs_neighbours(pattern) == neighbours


@pytest.mark.parametrize(
    "pattern, outside",
    [
        (r"a\b", (0, 1)),
        (r"\ba", (1, 0)),
        (r"\B", (1, 1)),
        ("a(?=b)", (0, 1)),
        ("a(?=bc)", (0, 2)),
        ("a(?=b|)", (0, 1)),
        ("(a|b(?!c))", (0, 1)),
        ("(a(?!b)|b(?!cc))", (0, 2)),
        ("a(?=b)c*", (0, 1)),
        ("(?<=a)b", (1, 0)),
        ("(?<![a-c])b(?!d)", (1, 1)),
        ("(a?(?<!b))c", (1, 0)),
        ("^a", (2, 0)),
        ("a(b$)?", (0, 2)),
        ("(?!if)[a-z]+", (0, 1)),
        (r"(?!if\()[a-z]+", (0, 2)),
        ("(?!.*z)a", (0, 2)),
        (r"(?!(?:if|else)(?![a-z]))[a-z]+", (0, 0)),
        (r"(?:(?!ab)[abc])*", (0, 1)),
        (r"/(?!/)[^/]*/", (0, 0)),
        (r"a(?<!\\)b", (0, 0)),
        (r"(?!if\b)[a-z]+", (0, 0)),
        ("a(?=b)b", (0, 0)),
    ],
)
def test_what_looks_over_the_edge(pattern, outside):
    assert sees_outside(pattern) == outside


@pytest.mark.parametrize(
    "pattern, mixed",
    [
        ("a*?b", False),
        ("a*?(b|c)", False),
        ("a*?(b|cc)", True),
        ("a*?b+", True),
        ("(a*?b)+", True),
        ("(a*?b){2}", False),
        ("a+b*?c", False),
        ("a*?(?:bc)??d{3}", False),
    ],
)
def test_greedy_after_lazy(pattern, mixed):
    assert has_greedy_after_lazy(pattern) == mixed


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ('".*?"i?', ('".*?"', "i?")),
        ("(?i:a*?b)[ab]*", ("(?i:a*?b)", "[ab]*")),
        ("(?i:a*?b[ab]*)", ("(?i:a*?b)", "(?i:[ab]*)")),
        ("a*?b[ab]+", ("a*?b[ab]+", "")),
        ("a*?b|c*", ("a*?b|c*", "")),
        (r"a*?b(?!c)d?", (r"a*?b(?!c)d?", "")),
        ("a*?[)(]b*", ("a*?[)(]", "b*")),
    ],
)
def test_splitting(pattern, expected):
    assert split_after_lazy(pattern) == expected


LAZY = [
    '".*?"i?',
    "a*?b",
    "a+?b??c",
    "(a|b)*?c",
    "a*b*?c",
    r"/\*(.|\n)*?\*/",
    r'".*?(?<!\\)(\\\\)*?"',
    "(a|b)*?c{2}",
    "a*?b[ab]*",
    "(a.*?a|b.*?b)",
]


ORDERED = [  # the order of the ways decides, not only the first end
    "a*?b+",
    "(a*?b)+",
    "(a*?b)+c?",
    r"'(\\'|[^'])*?'",
    r"/(?!/)(\\/|\\\\|[^/])*?/[ab]*",
    r'"(?:[^"\\]|\\.)*?"',
    r"""("(?:[^"\\]|\\.)*?"|'(?:[^'\\]|\\.)*?')""",
    "a*?(b|bb|c)a?",
    "a(b|ab)??b*",
    "(?i:A*?b{2,3})c|a+?b*",
    "(a|ab)+?(c|bcc)",
    "ca*?(?<!b)b*c",
    "a*?(?!a)b+c??",
    "(ab?){1,2}?b*",
    "((a|b)*?c){2}b*",
    "(a?b??)?b*?c",
]


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
