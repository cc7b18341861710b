"""EBNF: what the readers write down, and its lowering to plain alternatives of symbols.

The idea: grammar texts become the same shapes (`Leaf`, `Ref`, `Sequence`, `Choice`, `Repetition`, `Part`); one
lowering then makes a `Table`, rule name -> alternatives, each a tuple of symbols. Groups and repetitions get helper
rules, equal groups share one. `x*` and `x+` become *left*-recursive helpers, which an Earley parser follows in
constant space. `x~n..m` is one symbol, `Counted`: `rules.Nonterminal`s that count down are made only when a text
reaches them, so `x~0..100000` costs nothing to compile.

Cost: linear in the grammar's text. Nothing is multiplied out: `(a|b) (c|d)` is two helpers, not four alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import Any

from constrain.automata.syntax import EPSILON
from constrain.cfg.rules import Nonterminal, Symbol, Terminal


@dataclass(frozen=True)
class Leaf:
    """A terminal."""

    terminal: Terminal


@dataclass(frozen=True)
class Ref:
    """A rule, by name."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """One after the other; no part is the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """Any of the parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repetition:
    """`low` to `high` copies; `high` None: no bound."""

    part: Expression
    low: int
    high: int | None


@dataclass(frozen=True)
class Part:
    """A language with rules of its own as a part: `symbol` stands for its texts in a grammar.

    constraint: what it was made from; not looked into here.
    """

    constraint: Any
    symbol: Nonterminal = field(compare=False)


Expression = Leaf | Ref | Sequence | Choice | Repetition | Part


def parts_of(rules: Iterable[Expression]) -> tuple[Any, ...]:
    """The constraints that are parts of some rules, each once."""
    found: dict[Any, None] = {}
    stack = list(rules)
    while stack:
        top = stack.pop()
        if isinstance(top, Part):
            found[top.constraint] = None
        elif isinstance(top, Repetition):
            stack.append(top.part)
        elif isinstance(top, Sequence | Choice):
            stack += top.parts
    return tuple(found)


@dataclass(frozen=True)
class Counted:
    """A symbol `low` to `high` times, as one symbol of a `Table`; high >= 2."""

    symbol: str | Terminal | Part
    low: int
    high: int


TableSymbol = str | Terminal | Part | Counted
Alternative = tuple[TableSymbol, ...]
Table = dict[str, tuple[Alternative, ...]]


def written_rule(name: str) -> str:
    """The rule of the text that a helper rule was made for; its own name for any other."""
    return name.split("#")[0]


def is_helper(name: str) -> bool:
    """Nobody wrote this rule: it stands for a part of one."""
    return "#" in name


def to_table(rules: Mapping[str, Expression]) -> Table:
    """Lower every rule to alternatives of symbols; helper rules are named after the rule that needed them first."""
    lowering = _Lowering()
    for name, expression in rules.items():
        lowering.table[name] = lowering.alternatives(expression, name)
    return lowering.table


@dataclass
class _Lowering:
    table: Table = field(default_factory=dict)
    helpers: dict[Expression, str] = field(default_factory=dict)

    def alternatives(self, expression: Expression, owner: str) -> tuple[Alternative, ...]:
        parts = expression.parts if isinstance(expression, Choice) else (expression,)
        found: dict[Alternative, None] = {}
        for part in parts:
            if isinstance(part, Choice):
                found |= dict.fromkeys(self.alternatives(part, owner))
            else:
                found[self.sequence(part, owner)] = None
        return tuple(found)

    def sequence(self, expression: Expression, owner: str) -> Alternative:
        symbols: list[TableSymbol] = []
        for part in expression.parts if isinstance(expression, Sequence) else (expression,):
            if isinstance(part, Sequence):
                symbols += self.sequence(part, owner)
            else:
                symbols += self.symbol(part, owner)
        return tuple(symbols)

    def symbol(self, expression: Expression, owner: str) -> Alternative:
        """The symbols (one, or none, or two) that stand for an expression."""
        if isinstance(expression, Leaf):
            return () if expression.terminal.node == EPSILON else (expression.terminal,)
        if isinstance(expression, Ref):
            return (expression.name,)
        if isinstance(expression, Part):
            return (expression,)
        if not isinstance(expression, Repetition):
            return (self.helper(expression, owner),)
        if expression.high == 0:
            return ()
        if expression.low == expression.high == 1:
            return self.sequence(expression.part, owner)
        if (expression.low, expression.high) == (0, 1) or (expression.low <= 1 and expression.high is None):
            return (self.helper(expression, owner),)
        item = self.item(expression.part, owner)
        if expression.high is not None:
            return (Counted(item, expression.low, expression.high),)
        return Counted(item, expression.low, expression.low), self.helper(Repetition(expression.part, 0, None), owner)

    def item(self, expression: Expression, owner: str) -> str | Terminal | Part:
        """One rule or terminal that stands for the expression."""
        symbols = self.symbol(expression, owner)
        if len(symbols) == 1 and not isinstance(symbols[0], Counted):
            return symbols[0]
        return self.helper(Sequence((expression,)), owner)

    def helper(self, expression: Expression, owner: str) -> str:
        if expression in self.helpers:
            return self.helpers[expression]
        name = f"{owner}#{len(self.helpers)}"  # no rule of a grammar text can have this name
        self.helpers[expression] = name
        if not isinstance(expression, Repetition):
            self.table[name] = self.alternatives(expression, owner)
        elif expression.high == 1:
            self.table[name] = ((), *self.alternatives(expression.part, owner))
        else:  # left-recursive: name : name part | part (or nothing)
            item = self.sequence(expression.part, owner)
            self.table[name] = (item if expression.low else (), (name, *item))
        return name


def to_nonterminals(table: Table, start: str, right_recursive: frozenset[str]) -> Nonterminal:
    """Make the `Nonterminal`s of a table; returns the start symbol.

    right_recursive: the rules to flag so.
    """
    made: dict[str, Nonterminal] = {}

    def nonterminal(name: str) -> Nonterminal:
        if name not in made:
            made[name] = Nonterminal(
                name,
                lambda: [[symbol(each) for each in alternative] for alternative in table[name]],
                right_recursive=name in right_recursive,
            )
        return made[name]

    def symbol(each: TableSymbol) -> Symbol:
        if isinstance(each, Counted):
            return counted(symbol(each.symbol), each.low, each.high)
        if isinstance(each, Part):
            return each.symbol
        return each if isinstance(each, Terminal) else nonterminal(each)

    return nonterminal(start)


def counted(item: Symbol, low: int, high: int) -> Nonterminal:
    """`low` to `high` copies of a symbol: a chain that counts down, made link by link as a text reaches it.

    The rest of the chain is the last symbol of each link, and flagged right-recursive so that the engine follows the
    chain in constant space. Equal counts of equal items are equal nonterminals.
    """

    def expand() -> SequenceOf[SequenceOf[Symbol]]:
        longer = [item, counted(item, max(low - 1, 0), high - 1)] if high > 1 else [item]
        return [longer] if low else [[], longer]

    return Nonterminal(f"{item.name}~{low}..{high}", expand, key=("counted", item, low, high), right_recursive=high > 1)
