"""Folding: pieces of a grammar that are regular become single terminals, without changing the language.

The idea: when nothing may stand between two lexemes and every segmentation counts (`lexer="dynamic"`, no `%ignore`),
where a lexeme ends is nobody's business: `[0-9] [0-9]*` may be two terminals or one. The engine is fastest on long
lexemes, so the rules that do not reach a recursion are inlined bottom-up, as far as a limit of size allows, and
neighbours are merged.

Cost: linear in the grammar plus what is inlined. Limit: right- or left-linear recursion is regular too, but stays a
rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from constrain.automata import syntax
from constrain.automata.syntax import Node
from constrain.cfg.ebnf import Choice, Expression, Leaf, Part, Ref, Repetition, Sequence
from constrain.cfg.rules import Terminal
from constrain.cfg.transform.analysis import on_cycles

MAX_WEIGHT = 400  # characters, sets and literals in one terminal, repetitions counted up to 50 times
MAX_REPEATS_COUNTED = 50


def references(expression: Expression) -> dict[str, None]:
    """The names of the rules that an expression mentions, in order."""
    found: dict[str, None] = {}
    stack = [expression]
    while stack:
        top = stack.pop()
        if isinstance(top, Ref):
            found[top.name] = None
        elif isinstance(top, Repetition):
            stack.append(top.part)
        elif isinstance(top, Sequence | Choice):
            stack += reversed(top.parts)
    return found


def reachable(rules: Mapping[str, Expression], start: str) -> dict[str, None]:
    """The names that the start rule leads to, itself included; also those that have no rule."""
    found, stack = {start: None}, [start]
    while stack:
        name = stack.pop()
        new = [each for each in references(rules[name]) if each not in found] if name in rules else []
        found |= dict.fromkeys(new)
        stack += new
    return found


def fold(rules: Mapping[str, Expression], limit: int = MAX_WEIGHT) -> dict[str, Expression]:
    """The same rules with maximal regular pieces as terminals (see the module for when that is exact)."""
    edges = {name: list(references(expression)) for name, expression in rules.items()}
    folder = _Folder(on_cycles(edges), limit)
    for name in _leaves_first(edges):
        folder.folded[name] = folder.expression(rules[name], name)
    return {name: folder.folded[name] for name in rules}


def to_node(rules: Mapping[str, Expression], start: str, limit: int = 10 * MAX_WEIGHT) -> Node | None:
    """The whole language as one regular language, if the start rule folds into one terminal; else None."""
    folded = fold(rules, limit)[start]
    return folded.terminal.node if isinstance(folded, Leaf) else None


def _leaves_first(edges: Mapping[str, list[str]]) -> list[str]:
    """Every node after the nodes that it leads to, as far as cycles allow."""
    done: dict[str, None] = {}
    entered: set[str] = set()
    for root in edges:
        stack = [root]
        while stack:
            name = stack[-1]
            if name in entered:
                done[stack.pop()] = None
            else:
                entered.add(name)
                stack += [each for each in edges[name] if each not in entered]
    return list(done)


@dataclass
class _Folder:
    cyclic: frozenset[str]
    limit: int

    def __post_init__(self) -> None:
        self.folded: dict[str, Expression] = {}
        self.weights: dict[Node, int] = {}

    def expression(self, expression: Expression, owner: str) -> Expression:
        if isinstance(expression, Leaf | Part):
            return expression
        if isinstance(expression, Ref):
            inlined = None if expression.name in self.cyclic else self.folded.get(expression.name)
            return inlined if isinstance(inlined, Leaf) else expression
        if isinstance(expression, Repetition):
            return self.repetition(expression, owner)
        parts = [self.expression(part, owner) for part in expression.parts]
        return self.sequence(parts, owner) if isinstance(expression, Sequence) else self.choice(parts, owner)

    def repetition(self, expression: Repetition, owner: str) -> Expression:
        part = self.expression(expression.part, owner)
        copies = min(max(expression.low, expression.high or 1), MAX_REPEATS_COUNTED)
        if isinstance(part, Leaf) and self.weight(part.terminal.node) * copies <= self.limit:
            node = syntax.repeat(part.terminal.node, expression.low, expression.high)
            self.weights[node] = self.weight(part.terminal.node) * copies
            return Leaf(Terminal(node, owner))
        return Repetition(part, expression.low, expression.high)

    def sequence(self, parts: list[Expression], owner: str) -> Expression:
        merged: list[Expression] = []
        for part in parts:
            if merged and isinstance(part, Leaf) and isinstance(merged[-1], Leaf):
                if joined := self.join(syntax.concat, merged[-1], part, owner):
                    merged[-1] = joined
                    continue
            merged.append(part)
        if not merged:
            return Leaf(Terminal(syntax.EPSILON, owner))
        return merged[0] if len(merged) == 1 else Sequence(tuple(merged))

    def choice(self, parts: list[Expression], owner: str) -> Expression:
        merged: dict[Expression, None] = {}
        regular: Leaf | None = None
        for part in parts:
            joined = self.join(syntax.alternate, regular, part, owner) if regular and isinstance(part, Leaf) else None
            if joined or (regular is None and isinstance(part, Leaf)):
                regular = joined or part  # type: ignore[assignment]
            else:
                merged[part] = None
        parts = [*([regular] if regular else []), *merged]
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def join(self, combine: object, left: Leaf, right: Leaf, owner: str) -> Leaf | None:
        """Both terminals as one, or None if that would be too large."""
        weight = self.weight(left.terminal.node) + self.weight(right.terminal.node)
        if weight > self.limit:
            return None
        node = combine(left.terminal.node, right.terminal.node)  # type: ignore[operator]
        self.weights[node] = weight
        return Leaf(Terminal(node, owner))

    def weight(self, node: Node) -> int:
        if node not in self.weights:
            inner = [self.weight(each) for each in node.args if isinstance(each, Node)]
            copies = min(max(node.low, node.high or 1), MAX_REPEATS_COUNTED) if isinstance(node, syntax.Repeat) else 1
            self.weights[node] = sum(inner) * copies if inner else 1
        return self.weights[node]
