"""Grammars that tests of several rooms read: texts in Lark's notation, and random ones."""

import random

from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import to_nonterminals
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform.analysis import right_recursive_rules
from reading_oracle import grammar_of, matches

JSON = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"([^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\n]+/
"""

STATEMENTS = r"""
start: statement*
statement: "let" NAME "=" expression ";" | "if" expression "then" statement | NAME "(" expression ")" ";"
expression: expression "+" expression | expression "==" expression | NAME | NUMBER | "(" expression ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
%ignore " "
"""  # ambiguous; under lexer="greedy" keywords win over names, and "=" falls back from "=="


# --- random grammars ---


def random_node(rng: random.Random, alphabet: str, depth: int = 2) -> Node:
    """A small regular language; may contain the empty text, is never empty."""
    kind = rng.randrange(7) if depth else rng.randrange(3)
    if kind == 0:
        return syntax.literal("".join(rng.choices(alphabet, k=rng.choice([1, 1, 2, 3]))))
    if kind == 1:
        return syntax.literal(rng.choice(alphabet))
    if kind == 2:
        return syntax.chars((ord(c), ord(c)) for c in rng.sample(alphabet, rng.randint(1, len(alphabet))))
    inner = random_node(rng, alphabet, depth - 1)
    if kind == 3:
        low = rng.randrange(2)
        return syntax.repeat(inner, low, rng.choice([None, None, low + 1, low + 2]))
    other = random_node(rng, alphabet, depth - 1)
    return syntax.alternate(inner, other) if kind == 4 else syntax.concat(inner, other)


def random_grammar(rng: random.Random, alphabet: str = "ab", lexer: str = "dynamic") -> Grammar:
    """A small grammar with a non-empty language: recursion on both sides and in the middle, nullable rules,
    overlapping terminals, in one of three an ignored terminal, in one of three a nullable terminal. Every alternative
    is productive.
    """
    while True:
        grammar = _any_grammar(rng, alphabet, lexer)
        if grammar is not None:
            return grammar


def _any_grammar(rng: random.Random, alphabet: str, lexer: str) -> Grammar | None:
    nullables = rng.randrange(3) == 0
    terminals = []
    for index in range(rng.randint(2, 4)):
        node = random_node(rng, alphabet)
        if nullables or not matches(node, ""):
            literal = isinstance(node, syntax.Literals) and len(node.texts) == 1 and rng.randrange(4) > 0
            terminals.append(Terminal(node, f"T{index}", rng.choice([0, 0, 0, 1, -1]), literal))
    if not terminals:
        return None
    rules = [f"r{index}" for index in range(rng.randint(1, 3))]
    shapes = {rule: [_shape(rng, rules, len(terminals)) for _ in range(rng.randint(1, 3))] for rule in rules}
    productive = grammar_of(Grammar(_make(shapes, terminals, right_recursive=False)))
    if productive.start not in productive.rules:
        return None
    names = {rule.name for rule in productive.rules}
    kept = {r: [a for a in shapes[r] if all(isinstance(s, int) or s in names for s in a)] for r in rules}
    ignore = ()
    if rng.randrange(3) == 0:
        node = random_node(rng, alphabet, 1)
        ignore = () if matches(node, "") else (Terminal(node, "BLANK", rng.choice([0, 0, 1])),)  # type: ignore[assignment]
    return Grammar(_make(kept, terminals, right_recursive=True), ignore, lexer)  # type: ignore[arg-type]


def _shape(rng: random.Random, rules: list[str], terminals: int) -> tuple[str | int, ...]:
    length = rng.choice([0, 1, 1, 2, 2, 2, 3, 3])
    return tuple(rng.choice(rules) if rng.randrange(5) < 2 else rng.randrange(terminals) for _ in range(length))


def _make(
    shapes: dict[str, list[tuple[str | int, ...]]], terminals: list[Terminal], *, right_recursive: bool
) -> Nonterminal:
    """Nonterminals for the shapes (a name is a rule, a number a terminal); the first rule is the start."""
    table = {
        rule: tuple(dict.fromkeys(tuple(terminals[s] if isinstance(s, int) else s for s in a) for a in alternatives))
        for rule, alternatives in shapes.items()
    }
    flagged = right_recursive_rules(table) if right_recursive else frozenset()
    return to_nonterminals(table, next(iter(table)), flagged)
