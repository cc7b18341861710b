"""Each transform of grammars keeps its row of `grammar_spec`, and each row refuses what is not legal."""

import random
from unittest import mock

import pytest

import constrain
import grammar_spec
from constrain import alt, collection, grammar, regex, seq
from constrain.errors import LimitError, UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.cfg import ebnf
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform import analysis, contexts, product
from small_grammars import JSON, STATEMENTS, random_grammar, random_node

A, B = Terminal(syntax.literal("a"), "A"), Terminal(syntax.literal("b"), "B")
LOOKING = 'start: (A | B)+\nA: /a+(?=b)/\nB: /b(?!b)/\n%ignore " "'
TAIL = Nonterminal("tail", lambda: [[A, TAIL], [A]])
DEAD = Nonterminal("dead", lambda: [[A, DEAD]], right_recursive=True)
START = Nonterminal("start", lambda: [[A], [DEAD]])
SEEING = Terminal(A.node, "SEEING", contexts=contexts.contexts_of("a(?=b)", False, True))


@pytest.mark.parametrize("name", collection.names())
def test_grammars_of_the_collection(name):
    with grammar_spec.checked() as counts:
        collection.load(name).to_grammar()
    assert counts["without_unproductive"] and counts["left_associative"]


@pytest.mark.parametrize("text", [JSON, STATEMENTS, LOOKING])
def test_grammars_that_are_combined(text):
    with grammar_spec.checked() as counts:
        read = grammar(text)
        for combined in (read, seq("a", read, "b"), alt("b", read), read & regex("(?s).{1,9}"), alt(read, read)):
            combined.to_grammar()
    assert counts["inline_ignored"] and counts["product"]
    assert text != LOOKING or counts["eliminate_context"]


@pytest.mark.parametrize("seed", range(40))
def test_random_grammars(seed):
    rng = random.Random(seed)
    with grammar_spec.checked() as counts:
        for _ in range(5):
            made = random_grammar(rng)
            contexts.eliminate_context(made)
            try:
                product.product(made, random_node(rng, "ab", 3))
            except (UnsatisfiableError, LimitError):
                continue
    assert counts["eliminate_context"] == 5


@pytest.mark.parametrize(
    "row, made",
    [
        (grammar_spec.table_is_legal, {"start": ((A,), (A,))}),
        (grammar_spec.table_is_legal, {"start": (("other",),)}),
        (grammar_spec.table_is_legal, {"start": ((ebnf.Counted(A, 0, 1),),)}),
        (grammar_spec.table_is_legal, {"start": ((Terminal(syntax.EPSILON),),)}),
        (grammar_spec.rules_are_legal, {"start": ebnf.Ref("other")}),
        (grammar_spec.rules_are_legal, {"start": ebnf.Repeated(ebnf.Leaf(A), 2, 1)}),
        (grammar_spec.grammar_is_legal, Grammar(START)),
        (grammar_spec.grammar_is_legal, Grammar(DEAD)),
        (grammar_spec.grammar_is_legal, Grammar(TAIL)),
        (grammar_spec.no_contexts, Grammar(Nonterminal("start", lambda: [[SEEING]]))),
        (grammar_spec.no_contexts, Grammar(Nonterminal("start", lambda: [[A]]), (B,))),
    ],
)
def test_what_is_not_legal_is_refused(row, made):
    with pytest.raises(AssertionError):
        row(made)


@pytest.mark.parametrize(
    "module, name, fault",
    [
        (analysis, "without_unproductive", lambda table: {name: (*a, (A, "never")) for name, a in table.items()}),
        (analysis, "left_associative", lambda table: {name: (*a, (name, A, name)) for name, a in table.items()}),
        (ebnf, "to_table", lambda rules: {name: ((name,),) for name in rules} | {"more": ((A,),)}),
    ],
)
def test_a_transform_that_breaks_its_row_is_found(module, name, fault):
    with mock.patch.dict(grammar_spec.SPEC, {fault: grammar_spec.SPEC[getattr(module, name)]}, clear=True):
        fault.__name__ = name
        with (
            mock.patch(
                "constrain.languages.cfg.build.to_table" if module is ebnf else f"{module.__name__}.{name}", fault
            ),
            grammar_spec.checked(),
            pytest.raises(AssertionError),
        ):
            constrain.grammar('start: "a" start | "b"')
