"""Nullable, productive, reachable, right-recursive, neighbours: by hand, and against plain searches."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.languages.automata import shape, syntax
from constrain.languages.cfg.ebnf import Counted, counted, to_nonterminals
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform import analysis
from reading_oracle import begins, language, matches, munched, rules_of, terminal_of, texts
from small_grammars import random_grammar, random_node

A, B = Terminal(syntax.literal("a"), "A"), Terminal(syntax.literal("b"), "B")
MAYBE = Terminal(syntax.optional(syntax.literal("c")), "MAYBE")
NEVER = Terminal(syntax.EMPTY, "NEVER")


def test_nullable_rules():
    table = {
        "empty": ((),),
        "maybe": ((MAYBE, "empty"), (A,)),
        "never": ((A,), ("never",)),
        "count": ((Counted(A, 0, 3),),),
        "counted maybe": ((Counted("maybe", 2, 3), Counted(MAYBE, 1, 2)),),
        "later": (("last",),),
        "last": (("maybe", "count"),),
    }
    assert analysis.nullable_rules(table) == {"empty", "maybe", "count", "counted maybe", "later", "last"}


def test_unproductive_alternatives_go_and_dead_counts_vanish():
    table = {
        "start": (("loop",), (A, Counted("loop", 0, 3), B), (A, Counted("loop", 1, 3)), (NEVER,), ("start", "loop")),
        "loop": (("loop", A), ("other",)),
        "other": (("loop",),),
        "fine": (("start",),),
    }
    assert analysis.productive_rules(table) == {"start", "fine"}
    assert analysis.without_unproductive(table) == {"start": ((A, B),), "fine": (("start",),)}


def test_reachable_rules():
    table = {"start": ((Counted("x", 1, 2),),), "x": ((A,), ("y",)), "y": (("x",),), "z": (("start",),)}
    assert analysis.reachable_rules(table, "start") == {"start", "x", "y"}


@pytest.mark.parametrize(
    "table, expected",
    [
        ({"s": (("s", A), (A,))}, set()),
        ({"s": ((A, "s"), (A,))}, {"s"}),
        ({"s": ((A, "s", MAYBE), ())}, {"s"}),
        ({"s": ((A, "s", B), ())}, set()),
        ({"s": (("s",), (A,))}, {"s"}),
        ({"s": ((A, "t"),), "t": ((B, "s"), ("u",)), "u": ((A,),)}, {"s", "t"}),
        ({"s": ((A, "t"), (A,)), "t": (("s", "n"),), "n": ((), (B, "n"))}, {"s", "t", "n"}),
        ({"s": ((A, Counted("s", 0, 2)),)}, {"s"}),
        ({"s": (("s", "+", "s"), (A,)), "+": ((B,),)}, {"s"}),
    ],
)
def test_right_recursive_rules(table, expected):
    assert analysis.right_recursive_rules(table) == expected


@given(st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7)), min_size=1))
def test_the_nodes_on_cycles(graph):
    edges = {str(node): [str(each) for each in graph.get(node, ())] for node in range(8)}

    def reached(node):
        found, stack = set(), list(edges[node])
        while stack:
            top = stack.pop()
            if top not in found:
                found.add(top)
                stack += edges[top]
        return found

    assert analysis.on_cycles(edges) == {node for node in edges if node in reached(node)}


def test_a_long_chain_needs_no_recursion():
    chain = {f"r{n}": ((A, f"r{n + 1}"),) for n in range(20_000)} | {"r20000": ((A,), (A, "r0"))}
    assert len(analysis.productive_rules(chain)) == 20_001
    assert len(analysis.right_recursive_rules(chain)) == 20_001


def test_neighbours():
    table = {"s": ((A, "n", "n", "t"), (Counted("t", 0, 4),)), "n": ((), (MAYBE,)), "t": ((B,), ("n", A))}
    assert set(analysis.adjacent_pairs(table)) == {
        (A, MAYBE),
        (A, B),
        (A, A),
        (MAYBE, MAYBE),
        (MAYBE, B),
        (MAYBE, A),
        (B, B),
        (B, A),
        (B, MAYBE),
    }


@pytest.mark.parametrize("seed", range(60))
def test_first_characters_and_nullable_nodes(seed):
    node = random_node(random.Random(seed), "abc", 3)
    first = syntax.chars(shape.first_characters(node))
    assert shape.nullable(node) == matches(node, "")
    assert {c for c in "abc" if begins(node, c)} == {c for c in "abc" if matches(first, c)}


@pytest.mark.parametrize("seed", range(40))
def test_a_reported_pair_never_meets(seed):
    """Greedy lexing of every short text, written down: no reported neighbours occur next to each other."""
    made = random_grammar(random.Random(seed), "ab", "greedy")
    table = _table(made)
    pairs = [tuple(map(terminal_of, pair)) for pair in analysis.swallowed_pairs(table, made.ignore)]
    for text in texts("ab", 6):
        for readings in _neighbours(made, text):
            assert not [pair for pair in pairs if pair[0] in readings[0] and pair[1] in readings[1]], text


def _table(made: Grammar):
    rules = rules_of(made)
    name = {rule: f"{rule.name}" for rule in rules}
    return {
        name[rule]: tuple(tuple(name[s] if isinstance(s, Nonterminal) else s for s in a) for a in alternatives)
        for rule, alternatives in rules.items()
    }


def _neighbours(made: Grammar, text: str):
    """The candidates that won, lexeme by lexeme, as (winners, winners of the next lexeme)."""
    return pairwise(munched(made, text) or [])


def test_counted_symbols_are_made_link_by_link():
    x = Nonterminal("x", lambda: [[A]])
    chain = counted(x, 2, 10**9)
    assert chain == counted(x, 2, 10**9)
    assert chain != counted(x, 1, 10**9)
    [[first, rest]] = chain.expand()
    assert (first, rest.name, rest.right_recursive) == (x, "x~1..999999999", True)
    found = language(Grammar(counted(A, 2, 4)), "a", 6)
    assert [text for text, (is_member, _) in found.items() if is_member] == ["aa", "aaa", "aaaa"]
    assert [text for text, (_, is_viable) in found.items() if not is_viable] == ["aaaaa"]


@pytest.mark.parametrize("seed", range(40))
def test_left_associative_tables_have_the_same_language(seed):
    """Random alternatives of s (at both ends, often), of another rule and of letters; every text up to a length."""
    rng = random.Random(seed)
    table = {}
    for name, other in (("s", "t"), ("t", "s")):
        alternatives = [tuple(rng.choices([name, other, A, B], [3, 1, 2, 2], k=rng.randint(1, 3))) for _ in range(2)]
        ends = (name, *rng.choices([A, B, other, name], k=rng.randrange(3)), name)
        empty = [()] if rng.randrange(3) == 0 else []
        table[name] = tuple(dict.fromkeys([*alternatives, ends, (rng.choice([A, B]),), *empty]))
    flat = analysis.left_associative(table)
    assert "s#" in flat
    made = [language(Grammar(to_nonterminals(each, "s", frozenset())), "ab", 5) for each in (table, flat)]
    assert made[0] == made[1]
