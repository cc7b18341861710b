"""Random small grammars under monitors: no walk may end dead, and what it writes is a text of the constraint.

A grammar is made of some statements of a language, and names of its own, so it lacks most of what would settle what a
monitor says is owed.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import constrain
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import c, jinja, monitored, python, sql, typescript
from fuzz import Target

CATALOGUE = {"t": ["id", "ab", "customer"], "users": ["id", "name"], "u": ["x"]}
VARIABLES = {"page": {"title": "a", "rows": [{"total": 3}]}, "x": 1}
MONITORS = {
    "sql": [
        lambda: sql(CATALOGUE),
        lambda: sql(CATALOGUE, ahead="known"),
        lambda: sql({"t": ["a"]}, functions=["sum"]),
    ],
    "python": [python, lambda: python(ahead="known")],
    "typescript": [typescript],
    "c": [c],
    "jinja": [lambda: jinja(VARIABLES), lambda: jinja(VARIABLES, ahead="known")],
}  # fmt: skip
NAMES = ["/[a-z]{1,3}/", "/[a-z]+/", "/[a-z_]{2,5}/", "/[A-Za-z]{1,4}/", '"id" | "x" | "zz"', "/[a-z]/"]
# The rules of each language, of which a grammar has some; N is a name, D a digit, e an operand.
RULES = {
    "sql": (
        ['"select " e " from " N', '"select " e ", " e " from " N " where " e "=" D', '"select " N "." N " from " N',
         '"select " e " from " N " as " N',
         '"select " N "." N " from " N " " N " join " N " on " N "." N " = " N "." N',
         '"insert into " N "(" N ") values (" D ")"', '"update " N " set " N "=" e', '"select count(" e ") from " N',
         '"select " e " from " N " group by " N', '"delete from " N (" where " N "=" D)?',
         '"with " N " as (select " e " from " N ") select " N " from " N', '"SELECT " N " FROM " N " ORDER BY " N'],
        ["N", 'N "." N', 'N "(" N ")"', "D", 'N "+" D', '"(" "select " N " from " N ")"'],
        ["; "],
    ),
    "python": (
        ['N " = " e', 'N "(" e ")"', '"for " N " in " e ":\\n    " N " = " e', '"def " N "(" N "):\\n    return " e',
         '"with " e " as " N ":\\n    " N "." N "()"', '"import " N', '"print(" e ")"', '"if " e ":\\n    " N " = " D',
         '"class " N ":\\n    def " N "(self):\\n        return self." N', '"from " N " import " N', '"del " N',
         '"try:\\n    " N "()\\nexcept " N ":\\n    pass"', 'N " += " e'],
        ["N", 'N "." N', 'N "(" N ")"', "D", 'N " + " D', '"[" N " for " N " in " N "]"', '"lambda " N ": " N'],
        ["\\n"],
    ),
    "typescript": (
        ['"const " N " = " e ";"', '"let " N ": number = " e ";"', 'N "(" e ");"',
         '"function " N "(" N ": string) { return " e "; }"',
         '"if (" e ") { " N "(); }"', '"for (const " N " of " e ") { " N "(" N "); }"', 'N " = " e ";"'],
        ["N", 'N "." N', 'N "(" N ")"', "D", 'N " + " D', '"{ " N ": " D " }"'],
        ["\\n"],
    ),
    "c": (
        ['"int " N " = " e ";"', '"int " N "(int " N ") { return " e "; }"', '"void " N "() { " N " = " e "; }"',
         '"struct " N " { int " N "; };"', '"typedef int " N ";"',
         '"int " N "(void) { struct " N " " N "; return " N "." N "; }"',
         '"static " N " " N ";"', '"int " N "() { for (int " N " = " D "; " N " < " e "; " N "++) " N "(" N "); }"'],
        ["N", 'N "->" N', 'N "(" N ")"', "D", 'N " + " D', '"sizeof(" N ")"'],
        ["\\n"],
    ),
    "jinja": (
        ['"{{ " e " }}"', '"{% for " N " in " e " %}{{ " e " }}{% endfor %}"', '"{% set " N " = " e " %}"',
         '"{% if " e " %}a{% endif %}"', '"{% macro " N "(" N ") %}{{ " e " }}{% endmacro %}"',
         '"{% with " N " = " e " %}{{ " N " }}{% endwith %}"', '"{% if " e " is " N " %}b{% endif %}"'],
        ["N", 'N "." N', 'N "(" N ")"', "D", 'N "|" N', 'N " + " D'],
        [" "],
    ),
}  # fmt: skip
WORDS = "select from where for in id name print len return def int const set endfor page title customer users".split()
VOCABULARY = constrain.Vocabulary(
    [
        *(bytes([byte]) for byte in range(256)),
        *(f"{blank}{word}".encode() for word in WORDS for blank in ("", " ")),
        None,
    ],
    eos_ids=[256 + 2 * len(WORDS)],
)
WALKS, LONG = 5, 120


def small_grammar(rng: random.Random, language: str) -> str:
    """A grammar of some statements of a language, as a text."""
    statements, operands, (between,) = RULES[language]
    chosen = rng.sample(statements, rng.choice([1, 1, 2, 3]))
    repeated = f'start: s ("{between}" s)~{rng.choice(["0..2", "1..2"])}' if rng.random() < 0.4 else "start: s"
    rules = [repeated, "s: " + " | ".join(chosen)]
    if any(" e " in f" {each} " for each in chosen):
        rules.append("e: " + " | ".join(rng.sample(operands, rng.choice([1, 2, 3]))))
    rules += ["N: " + rng.choice(NAMES), "D: /[0-9]/"]
    return "\n".join(rules)


def walk(compiled: Any, seed: int) -> tuple[bytes, bool]:
    """The text of a walk, and whether it ended, or was as long as `LONG` tokens: else it is dead."""
    matcher, rng, row = compiled.matcher(), random.Random(seed), np.zeros(VOCABULARY.words, np.uint32)
    eos = VOCABULARY.size - 1
    for _ in range(LONG):
        matcher.fill_mask(row)
        allowed = tokens_of(row).tolist()
        if not allowed:
            return bytes(matcher.text), False
        for token in set(rng.sample(range(eos), 3)).difference(allowed):
            assert not matcher.advance(token), (matcher.text, token)
        token = rng.choice([token for token in allowed if token > 255 and rng.random() < 0.5] or allowed)
        assert matcher.advance(token), (matcher.text, token)
        if token == eos:
            fault = compiled.constraint.residual_fault(matcher.text.decode())
            assert fault is None, (matcher.text, fault)
            break
    return bytes(matcher.text), True


def check_small(case: Any) -> None:
    """No walk ends dead, and each has the same masks in another process of the same text."""
    rng = random.Random(case["seed"])
    grammar, make = small_grammar(rng, case["language"]), rng.choice(MONITORS[case["language"]])
    text = monitored(constrain.grammar(grammar), make())
    compiled = constrain.compile(text, VOCABULARY)
    if "no end was found" in str(compiled.report):
        return
    found = [walk(compiled, seed) for seed in range(WALKS)]
    assert all(lives for _, lives in found), (grammar, found)
    first, other = found[-1], constrain.compile(text, VOCABULARY, automaton=constrain.TokenAutomaton(VOCABULARY))
    assert walk(other, WALKS - 1) == first, grammar  # whatever was searched before


SMALL = st.fixed_dictionaries({"seed": st.integers(0, 2**48), "language": st.sampled_from(sorted(RULES))})
TARGETS = [Target("small-monitored", SMALL, check_small, 20)]
