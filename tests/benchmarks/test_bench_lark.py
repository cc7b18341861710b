"""The differential benchmark of grammars: its oracles on known cases, and a small run without a disagreement."""

import random

import pytest

import lark_differential
from differential_grammars.gbnf import Gbnf
from differential_grammars.oracles import Conflict, Contextual, Dynamic
from differential_grammars.random_texts import gbnf_grammar, lark_grammar
from lark_differential import Case, Tally


@pytest.mark.parametrize("lexer, count", [("dynamic", 24), ("greedy", 60)])
def test_random_lark_grammars(lexer, count):
    tally, rng = Tally(), random.Random(0)
    for i in range(count):
        case = Case("random", str(i), lark_grammar(random.Random(f"test {i}")), "ab ", 4)
        lark_differential.compare(case, lexer, tally, rng)
    assert tally.wrong == []
    assert not tally.refused
    counts = tally.counts[f"random, {lexer}"]
    assert counts["loaded"] == counts["tried"] > 12
    assert counts["equal"] > 1000


@pytest.mark.parametrize("lexer", ["dynamic", "greedy"])
def test_the_terminals_of_larks_library(lexer):
    tally, rng = Tally(), random.Random(0)
    cases = [case for case in lark_differential.lark_cases(None) if case.corpus == "library"]
    assert len(cases) > 40
    for case in cases[::3]:
        lark_differential.compare(case, lexer, tally, rng)
    assert tally.wrong == []
    assert all(reason.startswith("a terminal cannot look at the text around it") for reason in tally.refused)
    assert tally.counts[f"library, {lexer}"]["equal"] > 500


def test_random_gbnf_grammars():
    tally = Tally()
    for i in range(60):
        lark_differential.compare_gbnf(Case("random", str(i), gbnf_grammar(random.Random(f"test {i}")), "ab", 4), tally)
    assert tally.wrong == []
    assert tally.counts["random"]["equal"] > 1500


def test_a_disagreement_would_be_seen(monkeypatch):
    monkeypatch.setattr(lark_differential, "Gbnf", lambda text: Gbnf(text.replace('"b"', '"a"')))
    tally = Tally()
    lark_differential.compare_gbnf(Case("x", "y", 'root ::= "b"', "ab", 1), tally)
    assert tally.counts["x"]["WRONG"] == 2


def test_the_plain_reading_of_larks_rules_is_not_larks_parser():
    """`re` takes the first alternative that matches."""
    both = Dynamic("start: /a|ab/")
    assert (both.accepts("ab"), both.language("ab"), both.language("a"), both.language("b")) == (
        False,
        True,
        True,
        False,
    )
    ignoring = Dynamic('start: "a" "b"\n%ignore " "')
    assert [ignoring.language(text) for text in ("ab", " a  b ", "a b c")] == [True, True, False]


def test_when_larks_order_decides():
    clear = Contextual('start: "a" NAME\nNAME: /[a-z]+/')
    assert not clear.order_decides("aab")
    short = Contextual('start: A | B\nA.1: "a"\nB: "ab"')  # lark: priority comes before length
    assert short.order_decides("ab")
    assert not short.order_decides("a")
    tied = Contextual('start: a "x" | b "y"\na: A\nb: B\nA: /[ab]/\nB: /[bc]/')
    assert tied.order_decides("bx")
    ignored = Contextual('T0: "b"\nstart: "b" T0 | "a"\n%ignore "b"')  # a rule never gets what lark ignores
    assert [ignored.order_decides(text) for text in ("bb", "ba", "a")] == [True, True, False]
    found = Tally()
    case = Case("x", "y", 'T0: "b"\nstart: "b" T0 | "a"\n%ignore "b"', "ab", 3)
    lark_differential.compare(case, "greedy", found, random.Random(0))
    assert found.wrong == []
    assert found.counts["x, greedy"]["order"] > 0
    with pytest.raises(Conflict):
        Contextual('start: "a" start | "a" start "b" | "c"')


@pytest.mark.parametrize(
    "text, members, others",
    [
        ('root ::= "a" | [b-d]{2,3} r?  # x\nr ::= (\n "\\x41" | .\n)+', ["a", "bc", "bcdA", "bbzz"], ["b", "ab", "c"]),
        ('root ::= r "!" | "x"\nr ::= r "+" r | [^+!]', ["1!", "1+2+3!", "x"], ["!", "1+!", "1+2"]),
        ('root ::= "" | root [\\]\\-]', ["", "]-]"], ["a"]),
    ],
)
def test_the_plain_gbnf(text, members, others):
    plain = Gbnf(text)
    assert [each for each in members if not plain.accepts(each)] == []
    assert [each for each in others if plain.accepts(each)] == []
