"""A script, run in processes with numba set up in another way: masks of some constraints on a small vocabulary.

Prints one JSON object: for each constraint and prefix the allowed ids, and whether the text is valid.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import constrain
from constrain.languages.automata import syntax
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Regular
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import TokenAutomaton

TEXTS = ["tr", "ue", "fa", "lse", '{"', '":', '", "', "12", "ab", "abc", "é", "→x", "xx", "()", ")a", "ab", "b "]
VOCABULARY = Vocabulary(
    [*(bytes([b]) for b in range(256)), *map(str.encode, TEXTS), "→".encode()[1:], None, None], [274]
)
LISTS = r"""
start: "[" items "]" | "(" start ")"
items: item "," items | item
item: "null" | "nu" | start | /[0-9]+/
%ignore " "
"""
WORDS = 'start: (KEY | NAME)+\nKEY: "if" | "iff"\nNAME: /[a-z]+/\n%ignore " "\n'


def constraints() -> dict[str, tuple[Constraint, list[str]]]:
    """Name -> (constraint, prefixes)."""
    string = syntax.json_string(
        syntax.intersect(syntax.repeat(syntax.ANY_CHAR, 1, 3), syntax.complement(syntax.literal("ab")))
    )
    return {
        "choices": (constrain.choices(["true", "false", "tr", "é→"]), ["", "t", "tr", "é"]),
        "counter": (constrain.regex(r"(ab|c){2,30}x{0,9}"), ["", "ab", "ccx"]),
        "growth": (constrain.regex(r"[a-z]{0,900}"), ["", "q" * 800]),  # more records than the first hash table holds
        "string": (Regular(string), ["", '"', '"a', '"ab', '"\\u00']),
        "dynamic": (constrain.grammar(LISTS), ["", "[", "[nu", "[1, 2", "(([1]"]),
        "greedy": (constrain.grammar(WORDS, lexer="greedy"), ["", "i", "if", "if a"]),
    }


def answers(budget: int | None = None) -> dict[str, list[object]]:
    """Ask everything once."""
    automaton = TokenAutomaton(VOCABULARY) if budget is None else TokenAutomaton(VOCABULARY, budget=budget)
    found: dict[str, list[object]] = {}
    for name, (constraint, prefixes) in constraints().items():
        compiled = constrain.compile(constraint, VOCABULARY, automaton=automaton)
        for prefix in prefixes:
            matcher = compiled.matcher()
            alive = matcher.advance_bytes(prefix.encode())
            rows = np.zeros((2, VOCABULARY.words), np.uint32)
            matcher.fill_mask(rows[0])
            constrain.fill_masks([matcher], rows[1:])
            assert (rows[0] == rows[1]).all()
            ids = np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little")).tolist()
            found[f"{name} {prefix!r}"] = [alive, ids, matcher.is_accepting(), matcher.forced_bytes().hex()]
    assert automaton.memory.H.size > 1 << 12, "the hash table never grew"
    return found


if __name__ == "__main__":
    print(json.dumps(answers()))
