"""Random grammars against the plain Earley parser, Lark texts against lark, GBNF texts against a plain reading."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st
from test_contexts import check_random_case
from test_exact import VOCABULARY, visit, wanted_mask

import constrain
import lark_differential
from differential_grammars.random_texts import gbnf_grammar, lark_grammar
from fuzz import Target
from handmade import Made
from lark_differential import Case, Tally
from reading_oracle import language
from small_grammars import random_grammar

LONGEST = 5


def check_grammar(case: Any) -> None:
    """Members, viable beginnings and masks of a grammar are those of the definition."""
    grammar = random_grammar(random.Random(case["seed"]), case["alphabet"], case["lexer"])
    alphabet = case["alphabet"]
    automaton = constrain.TokenAutomaton(VOCABULARY)
    matcher = constrain.compile(Made(grammar), VOCABULARY, automaton=automaton).matcher()
    found = list(visit(matcher, alphabet, LONGEST))
    viable = {text for text, _, _ in found}
    wanted = language(grammar, alphabet, LONGEST)
    assert {text: member for text, member, _ in found} == {t: member for t, (member, alive) in wanted.items() if alive}
    for text, member, mask in found:
        if mask is not None and len(text) + 4 <= LONGEST:  # the longest token has four characters
            assert mask == wanted_mask(text, viable.__contains__, member), text


GRAMMARS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**48),
        "alphabet": st.sampled_from(["ab", "abc"]),
        "lexer": st.sampled_from(["dynamic", "greedy"]),
    }
)


def check_lark(case: Any) -> None:
    """Verdicts are those of lark, or of lark's rules read plainly; nothing that lark takes is refused."""
    tally = Tally()
    for lexer in ("dynamic", "greedy"):
        drawn = Case("fuzz", "", case["grammar"], "ab ", 4)
        lark_differential.compare(drawn, lexer, tally, random.Random(0))
    assert not tally.wrong, tally.wrong[0]
    assert not tally.refused, tally.refused


def check_look_around(case: Any) -> None:
    """Terminals that look around them take what Python's `re` in place takes, or are refused."""
    check_random_case(case["seed"])


def check_gbnf(case: Any) -> None:
    """Verdicts are those of the plain reading."""
    tally = Tally()
    lark_differential.compare_gbnf(Case("fuzz", "", case["grammar"], "ab", 5), tally)
    assert not tally.wrong, tally.wrong[0]


def _texts(make: Any) -> st.SearchStrategy[dict[str, str]]:
    return st.randoms(use_true_random=False).map(lambda rng: {"grammar": make(rng)})


TARGETS = [
    Target("grammars", GRAMMARS, check_grammar, 40),
    Target("lark", _texts(lark_grammar), check_lark, 40),
    Target("lark-look-around", st.fixed_dictionaries({"seed": st.integers(0, 2**48)}), check_look_around, 20),
    Target("gbnf", _texts(gbnf_grammar), check_gbnf, 80),
]
