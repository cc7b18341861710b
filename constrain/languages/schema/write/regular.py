"""The texts of a schema as one regular language: what `pydantic.Json[T]` has in a string.

The idea: values inside of values are regular up to a depth; beyond it, containers are empty. At one depth the rules of
a list or an object are right recursive, so they are equations X = A X | B, which are solved one after the other.
Strings inside have the escapes that JSON needs if any text may stand there; of a narrower language those texts that
need none.

Cost: some milliseconds for each level of a schema.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence

from constrain.errors import LimitError
from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import (
    ANY_TEXT,
    EMPTY,
    EPSILON,
    JsonString,
    Literals,
    Node,
    alternate,
    concat,
    difference,
    intersect,
    literal,
    literals,
    repeat,
)
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.limits import tick

DEPTHS = (3, 8, 20)  # of containers inside of each other: the first in which there is a text
MAX_RULES = 2000
_QUOTE = literal('"')
_ANY_STRING = parse_ecma(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"', whole=True)
_UNESCAPED = parse_ecma(r'[^"\\\x00-\x1f]*', whole=True)


def regular(start: Symbol) -> Node:
    """The texts of a symbol, with containers up to a depth. Raises LimitError for too many rules."""
    folding = _Folding()
    found = (folding.symbol(start, depth) for depth in DEPTHS)
    return next((node for node in found if not is_empty(node)), EMPTY)


class _Folding:
    """Folds rules into languages. known: (nonterminal, depth) → its language."""

    def __init__(self) -> None:
        self.known: dict[tuple[Hashable, int], Node] = {}

    def symbol(self, symbol: Symbol, depth: int) -> Node:
        """The language of a symbol."""
        if isinstance(symbol, Terminal):
            return difference(_decoded(symbol.node), alternate(*(_decoded(each.node) for each in symbol.excluding)))
        key = symbol, depth
        if key not in self.known:
            self.known[key] = self.solved(symbol, depth)
        return self.known[key]

    def sequence(self, symbols: Sequence[Symbol], depth: int) -> Node:
        """The language of symbols one after the other; nothing, where a nonterminal stands below the last level."""
        if depth <= 0 and any(isinstance(symbol, Nonterminal) for symbol in symbols):
            return EMPTY
        return concat(*(self.symbol(symbol, depth - 1) for symbol in symbols))

    def solved(self, start: Nonterminal, depth: int) -> Node:
        """The language of a nonterminal: equations for all that its last symbols lead to, solved from the last on."""
        rules: dict[Nonterminal, dict[Nonterminal | None, Node]] = {start: {}}
        for left in (order := [start]):
            tick()
            if len(rules) > MAX_RULES:
                raise LimitError("a Json type has too many rules to be written in a string", fix="use a smaller type")
            for body in left.expand():
                last = body[-1] if body and isinstance(body[-1], Nonterminal) and (depth or len(body) == 1) else None
                before = self.sequence(body[:-1] if last is not None else body, depth)
                if before == EMPTY:
                    continue
                if last is not None and last not in rules:
                    rules[last] = {}
                    order.append(last)
                rules[left][last] = alternate(rules[left].get(last, EMPTY), before)
        for left in reversed(order):
            loop = rules[left].pop(left, None)
            ways = {to: concat(repeat(loop), way) for to, way in rules[left].items()} if loop else rules[left]
            for other in order:
                through = rules[other].pop(left, None) if other is not left else None
                for to, way in ways.items() if through is not None else ():
                    rules[other][to] = alternate(rules[other].get(to, EMPTY), concat(through or EPSILON, way))
            rules[left] = ways
        return rules[start].get(None, EMPTY)


def _decoded(node: Node) -> Node:
    """A language of texts of JSON as one of characters, in which strings are no longer marked."""
    if isinstance(node, JsonString):
        inner = node.node
        if inner == ANY_TEXT:
            return _ANY_STRING
        if isinstance(inner, Literals):
            return literals(json.dumps(text, ensure_ascii=False) for text in inner.texts)
        return concat(_QUOTE, intersect(inner, _UNESCAPED), _QUOTE)
    if not any(isinstance(part, Node) for part in node.args):
        return node
    return type(node)(*(_decoded(part) if isinstance(part, Node) else part for part in node.args))
