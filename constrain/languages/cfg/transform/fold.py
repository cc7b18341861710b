"""Folds regular pieces of a grammar into single terminals, without changing the language.

The idea: if nothing is ignored between lexemes and every segmentation counts (`lexer="dynamic"`, no `%ignore`), the
boundaries of lexemes do not matter: `[0-9] [0-9]*` may be two terminals or one. The engine is fastest on long lexemes.
So rules that do not reach a recursion are inlined bottom-up, up to a limit of size, and adjacent terminals are merged.

Cost: linear in the grammar plus what is inlined. Limit: right- or left-linear recursion is regular too, but stays a
rule, unless `with_loops` made a loop of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node, Tokens, token_sets
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Part, Ref, Repeated, Sequence, leaves
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.analysis import on_cycles
from constrain.limits import tick

MAX_WEIGHT = 400  # characters, sets and literals in one terminal; a repetition counts up to 50 times
MAX_REPEATS_COUNTED = 50


def references(expression: Expression) -> dict[str, None]:
    """The names of the rules that an expression mentions, in order."""
    names = [leaf.name for leaf in leaves([expression]) if isinstance(leaf, Ref)]
    return dict.fromkeys(reversed(names))


def reachable(rules: Mapping[str, Expression], start: str) -> dict[str, None]:
    """The names that the start rule leads to, including itself and names without a rule."""
    reached, stack = {start: None}, [start]
    while stack:
        name = stack.pop()
        new = [reference for reference in references(rules[name]) if reference not in reached] if name in rules else []
        reached |= dict.fromkeys(new)
        stack += new
    return reached


def fold(
    rules: Mapping[str, Expression], limit: int = MAX_WEIGHT, kept: frozenset[str] = frozenset()
) -> dict[str, Expression]:
    """Rules whose maximal regular pieces are terminals. The module header says when that is exact.

    kept: the rules that stay rules.
    """
    edges = {name: list(references(expression)) for name, expression in rules.items()}
    folder = _Folder(on_cycles(edges) | kept, limit)
    for name in _leaves_first(edges):
        folder.folded[name] = folder.expression(rules[name], name)
    return {name: folder.folded[name] for name in rules}


def to_node(rules: Mapping[str, Expression], start: str, limit: int = 10 * MAX_WEIGHT) -> Node | None:
    """The language as a regular one of texts if the start rule folds into a single terminal; else None."""
    if _weight_of(rules, start, limit) > limit:
        return None
    folded = fold(rules, limit)[start]
    return folded.terminal.node if isinstance(folded, Leaf) and not token_sets(folded.terminal.node) else None


def _weight_of(rules: Mapping[str, Expression], start: str, limit: int) -> int:
    """The weight of a rule as one terminal; more than the limit if it is none. PERF: it is known without making it."""
    edges, stack = dict[str, list[str]](), [start]
    while stack:
        name = stack.pop()
        edges[name] = list(references(rules[name]))
        stack += [each for each in edges[name] if each not in edges]
    weights: dict[str, int] = {}

    def of(expression: Expression) -> int:
        if isinstance(expression, Leaf):
            return weight_of(expression.terminal.node)
        if isinstance(expression, Part):
            return limit + 1
        if isinstance(expression, Ref):
            return weights.get(expression.name, limit + 1)  # unknown: it is recursive
        if isinstance(expression, Repeated):
            return of(expression.part) * _copies(expression)
        total = 0
        for part in expression.parts:
            total += of(part)
            if total > limit:
                return limit + 1
        return total

    for name in _leaves_first(edges):
        weights[name] = of(rules[name])
        if weights[name] > limit:  # and so is what leads to it
            return limit + 1
    return weights[start]


def _copies(expression: Repeated | syntax.Repeat) -> int:
    return min(max(expression.low, expression.high or 1), MAX_REPEATS_COUNTED)


def weight_of(node: Node) -> int:
    """The characters, sets and literals in a tree; repeated ones count up to 50 times."""
    stack = [] if node.weight else [node]
    while stack:
        top = stack[-1]
        inner = [part for part in top.args if isinstance(part, Node)]
        unknown = [part for part in inner if not part.weight]
        stack += unknown
        if not unknown:
            copies = _copies(top) if isinstance(top, syntax.Repeat) else 1
            top.weight = sum(part.weight for part in inner) * copies if inner else 1
            stack.pop()
    return node.weight


def with_loops(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules; one that refers to itself at its ends only is a loop: `a: "x" a | "y"` becomes `a: "x"* "y"`."""
    return {name: _loop(name, expression) for name, expression in rules.items()}


def _loop(name: str, expression: Expression) -> Expression:
    """One rule of `with_loops`."""
    again: list[Expression] = []
    last: list[Expression] = []
    for part in expression.parts if isinstance(expression, Choice) else (expression,):
        items = part.parts if isinstance(part, Sequence) else (part,)
        if items and items[-1] == Ref(name):
            again.append(Sequence(items[:-1]))
        else:
            last.append(part)
    repeated = Sequence((Repeated(Choice(tuple(again)), 0, None), Choice(tuple(last))))
    return repeated if again and last and name not in references(repeated) else expression


def _leaves_first(edges: Mapping[str, list[str]]) -> list[str]:
    """The nodes in post-order: each after the nodes that it leads to, except on cycles."""
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
                stack += [target for target in edges[name] if target not in entered]
    return list(done)


def _mentions(leaf: Leaf) -> bool:
    """True if a terminal is a token: it keeps its name, for explanations."""
    return isinstance(leaf.terminal.node, Tokens)


@dataclass
class _Folder:
    """Folds expressions. cyclic: rules that are recursive; limit: the greatest weight of a terminal."""

    cyclic: frozenset[str]
    limit: int

    def __post_init__(self) -> None:
        self.folded: dict[str, Expression] = {}

    def expression(self, expression: Expression, owner: str) -> Expression:
        tick()
        if isinstance(expression, Leaf | Part):
            return expression
        if isinstance(expression, Ref):
            inlined = None if expression.name in self.cyclic else self.folded.get(expression.name)
            return inlined if isinstance(inlined, Leaf) else expression
        if isinstance(expression, Repeated):
            return self.repetition(expression, owner)
        parts = [self.expression(part, owner) for part in expression.parts]
        return self.sequence(parts, owner) if isinstance(expression, Sequence) else self.choice(parts, owner)

    def repetition(self, expression: Repeated, owner: str) -> Expression:
        part = self.expression(expression.part, owner)
        if isinstance(part, Leaf) and not _mentions(part):
            if weight_of(part.terminal.node) * _copies(expression) <= self.limit:
                return Leaf(Terminal(syntax.repeat(part.terminal.node, expression.low, expression.high), owner))
        return Repeated(part, expression.low, expression.high)

    def sequence(self, parts: list[Expression], owner: str) -> Expression:
        merged: list[Expression] = []
        run: list[Leaf] = []
        weight = 0
        for part in parts:
            joins = isinstance(part, Leaf) and not _mentions(part)
            own = weight_of(part.terminal.node) if isinstance(part, Leaf) else 0
            if run and (not joins or weight + own > self.limit):
                merged.append(_joined(syntax.concat, run, owner))
                run, weight = [], 0
            if joins and isinstance(part, Leaf):
                run.append(part)
                weight += own
            else:
                merged.append(part)
        if run or not merged:
            merged.append(_joined(syntax.concat, run, owner))
        return merged[0] if len(merged) == 1 else Sequence(tuple(merged))

    def choice(self, parts: list[Expression], owner: str) -> Expression:
        merged: dict[Expression, None] = {}
        regular: list[Leaf] = []
        weight = 0
        for part in parts:
            own = weight_of(part.terminal.node) if isinstance(part, Leaf) else 0
            if isinstance(part, Leaf) and not _mentions(part) and (not regular or weight + own <= self.limit):
                regular.append(part)
                weight += own
            else:
                merged[part] = None
        parts = [*([_joined(syntax.alternate, regular, owner)] if regular else []), *merged]
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _joined(combine: Callable[..., Node], leaves: list[Leaf], owner: str) -> Leaf:
    """One terminal for several."""
    if len(leaves) == 1:
        return leaves[0]
    return Leaf(Terminal(combine(*(leaf.terminal.node for leaf in leaves)), owner))
