"""The oracle itself: against derivations written out, and by hand where it differs from plain membership."""

from __future__ import annotations

import random

import pytest

from constrain.languages.automata import syntax
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.grammar_text.text import grammar
from naive_grammar import (
    Earley,
    charts_of,
    language,
    matches,
    member,
    members_greedy,
    random_grammar,
    texts,
    viable,
    viable_greedy,
)

LENGTH = 4


def _derived(made: Grammar, alphabet: str) -> set[str]:
    """The members up to LENGTH, as the least fixed point of the rules over sets of texts.

    Every lexeme carries the ignored texts that follow it; those before the first are added at the end.
    """
    short = list(texts(alphabet, LENGTH))
    blank = {t for t in short if any(matches(i.node, t) for i in made.ignore) and t}
    blanks = {""}
    while new := {a + b for a in blanks for b in blank if len(a + b) <= LENGTH} - blanks:
        blanks |= new
    terminals: dict[Terminal, set[str]] = {}

    def joined(parts):
        found = {""}
        for part in parts:
            found = {a + b for a in found for b in part if len(a + b) <= LENGTH}
        return found

    def of(symbol):
        if isinstance(symbol, Nonterminal):
            return known.get(symbol, set())
        if symbol not in terminals:
            own = {t for t in short if matches(symbol.node, t)}
            terminals[symbol] = joined([own - {""}, blanks]) | (own & {""})
        return terminals[symbol]

    known: dict[Nonterminal, set[str]] = {made.start: set()}
    while True:
        before = {rule: len(found) for rule, found in known.items()}
        for rule in list(known):
            for alternative in rule.expand():
                known |= {s: set() for s in alternative if isinstance(s, Nonterminal) and s not in known}
                known[rule] |= joined([of(symbol) for symbol in alternative])
        if before == {rule: len(found) for rule, found in known.items()}:
            return joined([blanks, known[made.start]])


@pytest.mark.parametrize("seed", range(120))
def test_membership_is_derivability(seed):
    made = random_grammar(random.Random(seed), "ab")
    found = language(made, "ab", LENGTH)
    assert {text for text, (is_member, _) in found.items() if is_member} == _derived(made, "ab")


@pytest.mark.parametrize("seed", range(60))
def test_viable_prefixes(seed):
    """Every prefix of a member is viable, and above every viable text a member is found."""
    made = random_grammar(random.Random(seed), "ab")
    found = language(made, "ab", 6)
    alive = {text for text, (_, is_viable) in found.items() if is_viable}
    assert {text[:end] for text, (is_member, _) in found.items() if is_member for end in range(len(text) + 1)} <= alive
    for text in alive:
        if len(text) < 4:
            assert _has_member_above(made, text)


def _has_member_above(made: Grammar, text: str, most: int = 300) -> bool:
    """True if a valid text is among the first viable continuations, shortest first."""
    earley = Earley(made)
    queue = [(text, charts_of(earley, text))]
    for longer, charts in queue:
        if earley.accepts(charts[-1]):
            return True
        if len(queue) < most:
            following = [(longer + c, earley.extend(longer + c, charts)) for c in "ab"]
            queue += [each for each in following if earley.is_viable(*each)]
    return False


def test_the_random_grammars_are_of_every_kind():
    made = [random_grammar(random.Random(seed), "ab") for seed in range(200)]
    sizes = [sum(is_member for is_member, _ in language(each, "ab", 4).values()) for each in made]
    assert sum(bool(each.ignore) for each in made) > 30
    assert sum(each.start.right_recursive for each in made) > 30
    assert sum(size > 3 for size in sizes) > 80


def test_greedy_is_not_always_a_part_of_dynamic_but_here_it_is():
    for seed in range(80):
        dynamic = random_grammar(random.Random(seed), "ab")
        greedy = Grammar(dynamic.start, dynamic.ignore, "greedy")
        everything = {text for text, (is_member, _) in language(dynamic, "ab", 5).items() if is_member}
        assert members_greedy(greedy, "ab", 5) <= everything


def test_greedy_viability_looks_ahead():
    made = grammar('start: A "b"\nA: /a+b?/', lexer="greedy").to_grammar()
    assert [text for text in texts("ab", 3) if member(made, text)] == ["abb"]
    assert viable_greedy(made, "ab", "ab", 1)
    assert not viable_greedy(made, "abbb", "ab", 3)


def test_a_terminal_that_excludes_texts():
    word = Terminal(
        syntax.repeat(syntax.chars([(97, 98)]), 1), "word", excluding=frozenset({Terminal(syntax.literal("ab"))})
    )
    made = Grammar(Nonterminal("start", lambda: [[word]]))
    assert [text for text in texts("ab", 2) if member(made, text)] == ["a", "b", "aa", "ba", "bb"]
    assert viable(made, "ab")
