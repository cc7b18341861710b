"""The grammar of the first of several gaps, against enumeration, and the stretch that an error names."""

from __future__ import annotations

import random
import re

import pytest
from naive_gaps import ANY, fillings, grammar_of, members, random_rules

from constrain.errors import UnsatisfiableError
from constrain.gaps.projection import first_gap
from constrain.gaps.solution import GapLanguage
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from reading_oracle import member, texts

LONGEST = 7


@pytest.mark.parametrize("seed", range(90))
def test_the_first_gap(seed):
    """A text is of the grammar if and only if some filling of the other gaps makes a member."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    known = members(rules, LONGEST)
    before = "".join(rng.choices("ab", k=rng.choice([0, 0, 1, 2])))
    after = ["".join(rng.choices("ab", k=rng.randint(1, 2))) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.3:
        after.append("")
    rest = [part for text in after for part in (text, ANY)][:-1]
    wanted = {w for w in texts("ab", 3) if known & fillings([before, w, *rest], LONGEST)}
    try:
        grammar = first_gap(grammar_of(rules), before, after)
    except UnsatisfiableError:
        assert not known & fillings([before, ANY, *rest], LONGEST)
        return
    for w in texts("ab", 3):
        if w in wanted:
            assert member(grammar, w), (rules, before, after, w)
        elif member(grammar, w):  # then the whole is too long for the first enumeration
            assert shortest_length(grammar_of(rules), [before, w, *rest]) > LONGEST, (rules, before, after, w)


@pytest.mark.parametrize("pattern", ["x(ab|ba|aab)*y?", "(a|b(a|b(a|ba)b)a)+", "[ab]*(aab|ba)[ab]b", "(a[ab]{2}b|bb)*"])
@pytest.mark.parametrize(("before", "after"), [("", "b"), ("a", ""), ("ab", "ab"), ("x", "aab"), ("b", "b")])
def test_a_gap_within_a_lexeme(pattern, before, after):
    """The states of a terminal are the same in its table and where it is cut."""
    terminal = Terminal(parse_python(pattern), "terminal")
    wanted = {w for w in texts("ab", 6) if re.fullmatch(pattern, before + w + after)}
    try:
        grammar = first_gap(Grammar(Nonterminal("start", lambda: [[terminal]])), before, [after])
    except UnsatisfiableError:
        assert not wanted
        return
    assert {w for w in texts("ab", 6) if member(grammar, w)} == wanted


def shortest_length(grammar: Grammar, parts: list[str]) -> int:
    """The length of a text that fits; there has to be one. test_solution.py tests `shortest`."""
    language = GapLanguage(grammar)
    pattern = language.pattern()
    for part in parts:
        if part == ANY:
            pattern.anything()
        else:
            pattern.text(part.encode())
    arcs = language.solve(pattern).shortest()
    assert arcs is not None
    return len(arcs)


def test_the_stretch_that_contradicts():
    """The error names the least stretch that no filling completes, and draws its place."""
    rules = {"S": [("A", "b", "S"), ("a",)], "A": [("a+",)]}  # every b stands between two a
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "", ["aba", "abba", "a"])
    assert "'bb'" in raised.value.message
    assert "column 2" in str(raised.value)
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "", ["aa", "b"])
    assert "'b' and then ends" in raised.value.message
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "ba", ["a"])
    assert "begins with 'b'" in raised.value.message
