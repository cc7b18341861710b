"""The check of a finished text, against the least fixed point over all spans of short texts, on random grammars."""

import random

import pytest

from constrain.languages.automata.syntax import literal
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform.chart import check_finished
from constrain.languages.grammar_text.text import grammar
from reading_oracle import matches, texts
from small_grammars import random_grammar


def checked(start: Nonterminal, rng: random.Random) -> Nonterminal:
    """The same rules, some of which now refuse texts: of odd length, or that begin with a."""
    made: dict[Nonterminal, Nonterminal] = {}
    checks = [None, lambda t: "odd" if len(t) % 2 else None, lambda t: "a first" if t.startswith("a") else None]

    def copy(rule: Nonterminal) -> Nonterminal:
        if rule not in made:
            made[rule] = Nonterminal(rule.name, lambda: [[symbol(s) for s in a] for a in rule.expand()])
            made[rule].check = rng.choice(checks)
        return made[rule]

    def symbol(each):
        return copy(each) if isinstance(each, Nonterminal) else each

    return copy(start)


def passes(start: Nonterminal, text: str) -> bool:
    """Is there a derivation of the text whose every checked rule passes? By repetition until nothing changes."""
    rules, stack = {}, [start]
    while stack:
        rule = stack.pop()
        if rule not in rules:
            rules[rule] = rule.expansion = rule.expansion or rule.expand()
            stack += [s for a in rules[rule] for s in a if isinstance(s, Nonterminal)]
    places = range(len(text) + 1)
    found: set[tuple[Nonterminal, int, int]] = set()

    def ends(symbol, i: int) -> list[int]:
        if isinstance(symbol, Terminal):
            return [j for j in places[i:] if matches(symbol.node, text[i:j])]
        return [j for j in places[i:] if (symbol, i, j) in found]

    while True:
        before = len(found)
        for rule, alternatives in rules.items():
            for alternative in alternatives:
                for i in places:
                    reached = {i}
                    for symbol in alternative:
                        reached = {k for j in reached for k in ends(symbol, j)}
                    found |= {(rule, i, j) for j in reached if rule.check is None or rule.check(text[i:j]) is None}
        if len(found) == before:
            return (start, 0, len(text)) in found


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_with_checks(seed):
    rng = random.Random(seed)
    base = random_grammar(rng)
    start = checked(base.start, rng)
    made = Grammar(start)
    for text in texts("ab", 4):
        fault = check_finished(made, text)
        assert (fault is None) == passes(start, text), text


def test_the_fault_is_the_first_check_that_failed():
    start = Nonterminal("start", lambda: [[Terminal(literal("ab"))]], check=lambda text: f"no {text}")
    assert check_finished(Grammar(start), "ab") == "no ab"
    assert check_finished(Grammar(start), "b") == "the text is not a member"


def test_excluded_texts_do_not_count():
    word = Terminal(grammar("start: /[a-z]+/").node, excluding=frozenset({Terminal(literal("if"))}))
    made = Grammar(Nonterminal("start", lambda: [[word]]))
    assert check_finished(made, "iff") is None
    assert check_finished(made, "if") == "the text is not a member"


def test_characters_of_several_bytes():
    made = grammar('start: "é" start | "é"').to_grammar()
    assert check_finished(made, "ééé") is None
    assert check_finished(made, "éé ") == "the text is not a member"
