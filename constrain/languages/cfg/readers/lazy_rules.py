"""Terminals beside a lazy rule: `text: TEXT | call text`, `call[lazy]: TEXT "<call>"`.

The idea: a lexer that meets a lazy rule and a terminal at one position follows both, and ends at the first text of the
lazy rule. So a text of the terminal that begins with one cannot be written there, and `TEXT` above is a text without
`<call>`. Where every way to cut a text counts this has to be said: at each place of a terminal where a lazy rule may
begin too, the terminal loses the texts that begin with a text of the rule.

Which terminals may begin beside which is found by FIRST and FOLLOW sets of places, as for an LL(1) parser.
Cost: linear in the grammar, for each round until the sets no longer grow.
Source: https://github.com/guidance-ai/llguidance, docs/syntax.md, "Lazy lexemes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from constrain.languages.automata import syntax
from constrain.languages.automata.decide import is_empty, matches
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Part, Ref, Repeated, Sequence
from constrain.languages.cfg.rules import Terminal

Place = tuple[str | int, ...]  # a rule, and the numbers of parts on the way to a leaf
Places = frozenset[Place]


def end_before_lazy(
    rules: Mapping[str, Expression], lazy: Mapping[str, Node]
) -> tuple[dict[str, Expression], list[str]]:
    """Take from each terminal the texts that begin with one of a lazy rule, where that may begin too.

    Args:
        rules: The rules; lazy ones are a `Leaf`.
        lazy: The texts at which each lazy rule ends.

    Returns:
        The rules, and a finding for each terminal that has lost texts.
    """
    beside = _Beside(rules, lazy)
    findings: dict[str, None] = {}

    def rewritten(expression: Expression, place: Place) -> Expression:
        if isinstance(expression, Leaf):
            ends = beside.ends(place)
            if not ends:
                return expression
            begun = syntax.concat(syntax.alternate(*(lazy[name] for name in ends)), syntax.repeat(syntax.ANY_CHAR))
            terminal = expression.terminal
            if is_empty(syntax.intersect(terminal.node, begun)):
                return expression
            shown = terminal.name or "a terminal"
            findings[f"{shown} beside lazy {', '.join(ends)}: texts that begin with one of these are left out"] = None
            return _without(terminal, begun)
        if isinstance(expression, Repeated):
            return replace(expression, part=rewritten(expression.part, (*place, 0)))
        if isinstance(expression, Sequence | Choice):
            return replace(
                expression, parts=tuple(rewritten(part, (*place, i)) for i, part in enumerate(expression.parts))
            )
        return expression

    kept = {name: rules[name] if name in lazy else rewritten(rules[name], (name,)) for name in rules}
    return kept, [*findings]


def _without(terminal: Terminal, texts: Node) -> Expression:
    node = syntax.difference(terminal.node, texts)
    return Choice(()) if is_empty(node) else Leaf(replace(terminal, node=node, literal=False))


class _Beside:
    """The places of leaves that may begin at one position of a text."""

    def __init__(self, rules: Mapping[str, Expression], lazy: Mapping[str, Node]) -> None:
        self.lazy = {name for name, texts in lazy.items() if not matches(texts, "")}  # an empty text ends nothing
        self.first: dict[str, Places] = dict.fromkeys(rules, frozenset())
        self.nullable: dict[str, bool] = dict.fromkeys(rules, False)
        self.follow: dict[str, Places] = dict.fromkeys(rules, frozenset())
        self.together: dict[Place, set[str]] = {}  # by the place of a leaf, the lazy rules
        known: object = None
        while known != (known := (dict(self.first), dict(self.nullable), dict(self.follow))):
            for name, rule in rules.items():
                self.first[name], self.nullable[name] = self._first(rule, (name,))
                self._walk(rule, (name,), self.follow[name])

    def ends(self, place: Place) -> list[str]:
        """The lazy rules that may begin where a leaf does."""
        return sorted(self.together.get(place, ()))

    def _first(self, expression: Expression, place: Place) -> tuple[Places, bool]:
        """The leaves that an expression may begin with, and whether it may be empty."""
        if isinstance(expression, Leaf):
            return frozenset({place}), matches(expression.terminal.node, "")
        if isinstance(expression, Ref):
            return self.first.get(expression.name, frozenset()), self.nullable.get(expression.name, False)
        if isinstance(expression, Repeated):
            first, nullable = self._first(expression.part, (*place, 0))
            return first, nullable or expression.low == 0
        if isinstance(expression, Part):
            return frozenset(), True  # what it begins with is not known; what follows may begin there for all we know
        found: Places = frozenset()
        is_sequence = isinstance(expression, Sequence)
        for i, part in enumerate(expression.parts):
            first, nullable = self._first(part, (*place, i))
            found |= first
            if is_sequence and not nullable:
                return found, False
        return found, is_sequence or any(self._first(part, (*place, i))[1] for i, part in enumerate(expression.parts))

    def _walk(self, expression: Expression, place: Place, after: Places) -> None:
        """Note what may begin together, and what may follow the rules that are used. after: what follows here"""
        first, nullable = self._first(expression, place)
        self._note(first | after if nullable else first)
        if isinstance(expression, Ref) and expression.name in self.follow:
            self.follow[expression.name] |= after
        elif isinstance(expression, Repeated):
            again = first if expression.high is None or expression.high > 1 else frozenset()
            self._walk(expression.part, (*place, 0), after | again)
        elif isinstance(expression, Choice):
            for i, part in enumerate(expression.parts):
                self._walk(part, (*place, i), after)
        elif isinstance(expression, Sequence):
            for i, part in reversed([*enumerate(expression.parts)]):
                self._walk(part, (*place, i), after)
                begin, can_be_empty = self._first(part, (*place, i))
                after = begin | after if can_be_empty else begin

    def _note(self, places: Places) -> None:
        lazy = {str(place[0]) for place in places if place[0] in self.lazy}
        for place in places if lazy else ():
            if place[0] not in self.lazy:
                self.together.setdefault(place, set()).update(lazy)
