"""Folding regular pieces into terminals, and writing ignored text into the rules, change no language."""

import random

import pytest

from constrain.languages.automata import syntax
from constrain.languages.cfg.build import build
from constrain.languages.cfg.ebnf import Choice, Leaf, Ref, Repeated, Sequence
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.fold import fold, to_node, with_loops
from constrain.languages.cfg.transform.regular import inline_ignored, regular_language
from constrain.languages.grammar_text.text import grammar
from reading_oracle import language, matches, texts
from small_grammars import random_node

RULES = ("r0", "r1", "r2")


def _expression(rng: random.Random, depth: int):
    kind = rng.randrange(8) if depth else rng.randrange(4)
    if kind < 3:
        return Leaf(Terminal(random_node(rng, "ab", 1)))
    if kind == 3:
        return Ref(rng.choice(RULES))
    if kind == 4:
        low = rng.randrange(3)
        return Repeated(_expression(rng, depth - 1), low, rng.choice([None, low, low + 1, low + 2]))
    shape = Choice if kind == 5 else Sequence
    return shape(tuple(_expression(rng, depth - 1) for _ in range(rng.randint(1 if shape is Choice else 0, 3))))


def _rules(seed: int):
    rng = random.Random(seed)
    ends = {name: Leaf(Terminal(random_node(rng, "ab", 1))) for name in RULES}  # so that every rule derives something
    return {name: Choice((ends[name], _expression(rng, 2))) for name in RULES}


def _language(rules, length=5):
    return language(build(rules, "r0", place=lambda name: None).grammar, "ab", length)


@pytest.mark.parametrize("seed", range(80))
def test_folding_keeps_the_language(seed):
    rules = _rules(seed)
    written = _language(rules)
    assert _language(fold(rules)) == written
    assert _language(fold(rules, limit=3)) == written
    node = to_node(rules, "r0")
    if node is not None:
        assert {text for text in texts("ab", 5) if matches(node, text)} == {t for t, (m, _) in written.items() if m}


@pytest.mark.parametrize("seed", range(20))
def test_a_rule_that_refers_to_itself_at_its_ends_is_regular(seed):
    rng = random.Random(seed)
    leaves = [Leaf(Terminal(random_node(rng, "ab", 1))) for _ in range(4)]
    again = [Sequence((leaves[0], Ref("r1"))), Sequence((leaves[1], leaves[2], Ref("r1")))][: rng.randint(1, 2)]
    parts = [leaves[3], *again]
    rng.shuffle(parts)
    rules = {"r0": Sequence((Ref("r1"), leaves[0])), "r1": Choice(tuple(parts))}
    node = to_node(with_loops(rules), "r0")
    assert node is not None
    assert {text for text in texts("ab", 5) if matches(node, text)} == {
        t for t, (m, _) in _language(rules).items() if m
    }
    for other in (Choice((*parts, Sequence((Ref("r1"), Ref("r1"))))), Choice(tuple(again))):
        assert to_node(with_loops({**rules, "r1": other}), "r0") is None


def test_some_of_these_fold_and_some_do_not():
    folded = [to_node(_rules(seed), "r0") is not None for seed in range(80)]
    assert 10 < sum(folded) < 75


def test_pieces_are_maximal():
    made = grammar('root ::= "a" [0-9]+ (root | "b" "c"*) "d"\n', format="gbnf").to_grammar()
    [[first, middle, last]] = made.start.expand()
    assert first.node == syntax.concat(syntax.literal("a"), syntax.repeat(syntax.chars([(48, 57)]), 1))
    assert [len(alternative) for alternative in middle.expand()] == [1, 1]
    assert last.node == syntax.literal("d")


def test_a_limit_of_size_stops_the_inlining():
    rules = {"r0": Sequence((Ref("r1"),) * 40), "r1": Sequence((Ref("r2"),) * 40), "r2": Sequence((Ref("r3"),) * 40)}
    rules["r3"] = Leaf(Terminal(syntax.chars([(97, 98)])))
    folded = fold(rules)
    assert isinstance(folded["r2"], Leaf)
    assert folded["r0"] == Sequence((Ref("r1"),) * 40)
    assert to_node(rules, "r0") is None


SPACED = 'start: "a" list? "b"\nlist: (list ",")? item\nitem: "a" | WORD\nWORD: /b[ab]/\n%ignore " "\n%ignore /;+/'


def test_ignored_text_can_be_written_into_the_rules():
    made = grammar(SPACED).to_grammar()
    explicit = inline_ignored(made)
    assert explicit.ignore == ()
    assert language(explicit, "ab, ;", 5) == language(made, "ab, ;", 5)


def test_a_grammar_without_recursion_is_regular():
    reading = grammar('start: WORD ("," WORD)~0..2\nWORD: /a+/\n%ignore " "').reading
    node = regular_language(reading)
    members = {text for text, (is_member, _) in language(reading.grammar, "a, ", 5).items() if is_member}
    assert {text for text in texts("a, ", 5) if matches(node, text)} == members
    assert regular_language(grammar(SPACED).reading) is None
    assert regular_language(grammar("start: A\nA: /a+/", lexer="greedy").reading) == regular_language(
        grammar("start: A\nA: /a+/").reading
    )
    assert regular_language(grammar("start: A A\nA: /a+/", lexer="greedy").reading) is None
