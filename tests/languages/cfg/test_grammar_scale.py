"""Grammars of many rules are read in linear time; ambiguity and recursion of every kind are read in linear time too.

Work is counted in calls; sizes are compared within one run.
"""

from collections.abc import Iterator

import pytest

import constrain
import vocabularies
from constrain.kernels.records.arena import HEADER
from constrain.languages.grammar_text.text import grammar
from constrain.limits import Limits
from constrain.masks.engine import TokenAutomaton
from work import counted


def many_rules(count: int, kind: str) -> str:
    """A grammar in which every rule leads to every other."""
    define, start = (":", "start") if kind == "lark" else (" ::=", "root")
    rules = [f'r{i}{define} "a{i}" r{(7 * i + 1) % count} | "b" r{(i + 1) % count}* | "c"' for i in range(count)]
    return "\n".join([f"{start}{define} r0", *rules, ""])


@pytest.fixture(autouse=True)
def without_limits() -> Iterator[None]:
    """Counting calls takes time."""
    with Limits(seconds=None, megabytes=None):
        yield


@pytest.mark.parametrize("kind", ["lark", "gbnf", "ebnf"])
def test_reading_is_linear(kind):
    """About 0.3 ms a rule in GBNF, 1 ms in Lark, most of it lark's own parser; 100,000 rules take a minute or two."""
    work = [calls_to_read(count, kind) for count in (100, 200, 800)]  # the first fills caches
    assert work[2] < 4.4 * work[1]


def calls_to_read(count: int, kind: str) -> int:
    constraint, work = counted(grammar, many_rules(count, kind), format=kind)
    assert constraint.findings == ()
    return work


@pytest.mark.parametrize("order", [1, -1], ids=["down", "up"])
def test_long_chains_under_the_greedy_lexer(order):
    """Pairs of neighbours are quadratic in such a grammar: beyond a limit they are not looked for, and that is told."""
    for count, told in [(150, 0), (1500, 1)]:
        rules = [f'r{i}: "a{i}" | r{i + 1}' for i in range(count)][::order]
        text = "\n".join(["start: r0 r0", *rules, f'r{count}: "b"', '%ignore " "'])
        findings, work = counted(lambda text=text: grammar(text, lexer="greedy").findings)
        assert work < 3_000_000
        assert len([each for each in findings if "was not examined" in each]) == told


def test_many_rules_through_the_engine():
    compiled = constrain.compile(grammar(many_rules(500, "gbnf"), format="gbnf"), vocabularies.tiny())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"a0a1a8bbcccc")
    assert matcher.is_accepting()


CONSTANT = {
    "s: s s": 'start: s\ns: s s | "a"',
    "s: s s s": 'start: s\ns: s s s | s s | "a"',
    "empty": 'start: s\ns: s s | "a" |',
    "expressions": 'start: s\ns: s "+" s | s "*" s | s "a" | "a"',
    "terminals": "start: (A | B)+\nA: /a+/\nB: /a+/",
}
GROWING = {"cycles": 'start: s\ns: t | s s | "a"\nt: s | s t | "a"', "both sides": 'start: s\ns: s "a" | "a" s | "a"'}


def states_after(text: str, times: int) -> list[int]:
    """The numbers of records after 40, 80, ... letters a."""
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary)
    matcher = constrain.compile(grammar(text), vocabulary, automaton=automaton).matcher()
    counts = []
    for _ in range(times):
        assert matcher.advance_bytes(b"a" * 40)
        assert matcher.is_accepting()
        counts.append(int(automaton.memory.A[HEADER.RECORDS]))
    return counts


@pytest.mark.parametrize("text", CONSTANT.values(), ids=CONSTANT)
def test_ambiguity_of_one_rule_costs_nothing(text):
    """A text of n letters has exponentially many parses; the states after 40 letters are those after 120."""
    counts = states_after(text, 3)
    assert counts[0] == counts[2]


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_other_ambiguity_costs_a_state_for_each_length(text):
    """Declared in docs/grammars-lark.md: states grow linearly, each with as many items as there are positions."""
    counts = states_after(text, 3)
    assert counts[2] - counts[1] == counts[1] - counts[0] <= 10 * 40
