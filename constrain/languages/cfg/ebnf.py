"""EBNF expressions, which all readers produce, and their lowering to plain alternatives of symbols.

The idea: every grammar format becomes the same expressions (`Leaf`, `Ref`, `Sequence`, `Choice`, `Repeated`, `Part`).
One lowering makes a `Table` of them: rule name -> alternatives, each a tuple of symbols. Groups and repetitions become
helper rules; equal groups share one. `x*` and `x+` become *left*-recursive helpers, which an Earley parser follows in
constant space. `x~n..m` is one symbol, `Counted`: its nonterminals count down and are made only when a text reaches
them, so `x~0..100000` costs nothing to compile.

Cost: linear in the grammar's text. Nothing is multiplied out: `(a|b) (c|d)` is two helpers, not four alternatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from constrain.languages.automata.syntax import EPSILON
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.limits import limits_at, tick


@dataclass(frozen=True)
class Leaf:
    """A terminal."""

    terminal: Terminal


@dataclass(frozen=True)
class Ref:
    """A reference to a rule by its name."""

    name: str


class _Parts:
    """An expression made of parts. PERF: a large one is hashed at each level above it, so it is hashed once."""

    parts: tuple[Expression, ...]

    def __hash__(self) -> int:
        if "_hash" not in self.__dict__:
            self.__dict__["_hash"] = hash((type(self).__name__, self.parts))
        return int(self.__dict__["_hash"])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts,)  # the hash is another one in the next process


@dataclass(frozen=True)
class Sequence(_Parts):
    """The concatenation of the parts; without parts it is the empty text."""

    parts: tuple[Expression, ...]
    __hash__ = _Parts.__hash__


@dataclass(frozen=True)
class Choice(_Parts):
    """The union of the parts."""

    parts: tuple[Expression, ...]
    __hash__ = _Parts.__hash__


@dataclass(frozen=True)
class Repeated:
    """`low` to `high` copies of a part; `high` None: unbounded."""

    part: Expression
    low: int
    high: int | None


@dataclass(frozen=True)
class Part:
    """A constraint embedded in a grammar.

    Attributes:
        constraint: The embedded constraint. Opaque here; it identifies the part.
        symbol: The nonterminal that derives its texts.
    """

    constraint: Any
    symbol: Nonterminal = field(compare=False)


Expression = Leaf | Ref | Sequence | Choice | Repeated | Part
JOINED = (Sequence, Choice)  # PERF: a union of types would be made anew at each question


def leaves(rules: Iterable[Expression]) -> Iterator[Leaf | Ref | Part]:
    """The terminals, names and constraints in the rules, with repetitions, the last first."""
    stack = list(rules)
    while stack:
        top = stack.pop()
        if isinstance(top, JOINED):
            stack += top.parts
        elif isinstance(top, Repeated):
            stack.append(top.part)
        else:
            yield top


def parts_of(rules: Iterable[Expression]) -> tuple[Any, ...]:
    """The distinct constraints that are embedded in the rules."""
    return tuple(dict.fromkeys(leaf.constraint for leaf in leaves(rules) if isinstance(leaf, Part)))


def terminals_of(rules: Iterable[Expression]) -> Iterator[Terminal]:
    """The terminals in the rules, with repetitions."""
    return (leaf.terminal for leaf in leaves(rules) if isinstance(leaf, Leaf))


@dataclass(frozen=True)
class Counted:
    """A symbol of a `Table` that stands for `low` to `high` copies of another; high >= 2."""

    symbol: str | Terminal | Part
    low: int
    high: int


TableSymbol = str | Terminal | Part | Counted
Alternative = tuple[TableSymbol, ...]
Table = dict[str, tuple[Alternative, ...]]


def written_rule(name: str) -> str:
    """The written rule that a helper rule was made for; any other name is returned as it is."""
    return name.split("#")[0]


def is_helper(name: str) -> bool:
    """True if the lowering made this rule for a part of a written one."""
    return "#" in name


def to_table(rules: Mapping[str, Expression]) -> Table:
    """Lower every rule to alternatives of symbols. A helper rule is named after the rule that first needed it."""
    lowering = _Lowering()
    for name, expression in rules.items():
        with limits_at(lambda: f"rule {name}"):  # noqa: B023
            lowering.table[name] = lowering.alternatives(expression, name)
    return lowering.table


@dataclass
class _Lowering:
    table: Table = field(default_factory=dict)
    helpers: dict[Expression, str] = field(default_factory=dict)

    def alternatives(self, expression: Expression, owner: str) -> tuple[Alternative, ...]:
        parts = expression.parts if isinstance(expression, Choice) else (expression,)
        alternatives: dict[Alternative, None] = {}
        for part in parts:
            if isinstance(part, Choice):
                alternatives |= dict.fromkeys(self.alternatives(part, owner))
            else:
                alternatives[self.sequence(part, owner)] = None
        return tuple(alternatives)

    def sequence(self, expression: Expression, owner: str) -> Alternative:
        tick()
        symbols: list[TableSymbol] = []
        for part in expression.parts if isinstance(expression, Sequence) else (expression,):
            if isinstance(part, Sequence):
                symbols += self.sequence(part, owner)
            else:
                symbols += self.symbol(part, owner)
        return tuple(symbols)

    def symbol(self, expression: Expression, owner: str) -> Alternative:
        """At most two symbols whose concatenation is the expression."""
        if isinstance(expression, Leaf):
            return () if expression.terminal.node == EPSILON else (expression.terminal,)
        if isinstance(expression, Ref):
            return (expression.name,)
        if isinstance(expression, Part):
            return (expression,)
        if not isinstance(expression, Repeated):
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
        return Counted(item, expression.low, expression.low), self.helper(Repeated(expression.part, 0, None), owner)

    def item(self, expression: Expression, owner: str) -> str | Terminal | Part:
        """A single rule name, terminal or part that stands for the expression."""
        symbols = self.symbol(expression, owner)
        if len(symbols) == 1 and not isinstance(symbols[0], Counted):
            return symbols[0]
        return self.helper(Sequence((expression,)), owner)

    def helper(self, expression: Expression, owner: str) -> str:
        """The name of the helper rule for an expression; the rule is made at the first call."""
        if expression in self.helpers:
            return self.helpers[expression]
        name = f"{owner}#{len(self.helpers)}"  # no rule of a grammar text can have this name
        self.helpers[expression] = name
        if not isinstance(expression, Repeated):
            self.table[name] = self.alternatives(expression, owner)
        elif expression.high == 1:
            self.table[name] = ((), *self.alternatives(expression.part, owner))
        else:  # left-recursive: name : name part | part (or nothing)
            item = self.sequence(expression.part, owner)
            self.table[name] = (item if expression.low else (), (name, *item))
        return name


@dataclass(frozen=True)
class AnyOrder:
    """Rules whose texts come in any order: the meaning of a rule that is written in one order (`to_nonterminals`).

    Attributes:
        items: The rules that come at most once.
        must: Which of them come.
        others: The rules that come any number of times.
        separator: The terminal between two texts; None: nothing.
        low: The least number of texts; those of `others` count as one.
        high: The largest number of texts; None: no limit.
    """

    items: tuple[str, ...]
    must: tuple[bool, ...]
    others: tuple[str, ...]
    separator: Terminal | None
    low: int = 0
    high: int | None = None

    def nonterminal(self, name: str, symbol_of: Callable[[str], Nonterminal | None]) -> Nonterminal:
        """The nonterminal; what may follow a set of items is made when a text reaches it.

        symbol_of: the nonterminal of a rule; None: it derives no text.
        """
        items, others = [symbol_of(rule) for rule in self.items], [symbol_of(rule) for rule in self.others]
        grammar = object()  # rules of other grammars have the same names

        def after(done: int, more: int) -> Nonterminal | None:
            """The rest behind `done`, a bit for each item, and `more` others; None: there is none."""
            size, left = done.bit_count(), [i for i in range(len(items)) if items[i] is not None and not done >> i & 1]
            needed = sum(self.must[i] for i in left)
            if self.high is not None and size + more + needed > self.high:
                return None
            if size + len(left) + (more > 0 or any(others)) < self.low:
                return None

            def expand() -> SequenceOf[SequenceOf[Symbol]]:
                alternatives: list[list[Symbol]] = []
                if not needed and size + min(more, 1) >= self.low:
                    alternatives.append([])
                between = [self.separator] if self.separator is not None and (done or more) else []
                nexts = [(items[i], after(done | 1 << i, more)) for i in left]
                nexts += [(other, after(done, 1 if self.high is None else more + 1)) for other in others]
                alternatives += [[*between, one, rest] for one, rest in nexts if one is not None and rest is not None]
                return alternatives

            return Nonterminal(name, expand, key=(grammar, done, more), right_recursive=True)

        found = after(0, 0)
        assert found is not None, "a rule that derives no text"
        return found


def to_nonterminals(
    table: Table, start: str, right_recursive: frozenset[str], any_order: Mapping[str, AnyOrder] = MappingProxyType({})
) -> Nonterminal:
    """The nonterminal of the start rule; others are made as it expands.

    right_recursive: the rules to flag so. any_order: what the rules mean that are written in one of several orders.
    """
    nonterminals: dict[str, Nonterminal] = {}

    def nonterminal(name: str) -> Nonterminal:
        if name not in nonterminals and name in any_order:
            nonterminals[name] = any_order[name].nonterminal(
                name, lambda rule: nonterminal(rule) if rule in table else None
            )
        elif name not in nonterminals:
            nonterminals[name] = Nonterminal(
                name,
                lambda: [[to_symbol(symbol) for symbol in alternative] for alternative in table[name]],
                right_recursive=name in right_recursive,
            )
        return nonterminals[name]

    def to_symbol(symbol: TableSymbol) -> Symbol:
        if isinstance(symbol, Counted):
            return counted(to_symbol(symbol.symbol), symbol.low, symbol.high)
        if isinstance(symbol, Part):
            return symbol.symbol
        return symbol if isinstance(symbol, Terminal) else nonterminal(symbol)

    return nonterminal(start)


def counted(item: Symbol, low: int, high: int) -> Nonterminal:
    """`low` to `high` copies of a symbol, as nonterminals that count down and are made when a text reaches them.

    Each ends with the nonterminal of the remaining copies and is flagged right-recursive, so the parser follows them in
    constant space. Equal counts of equal items are equal nonterminals.
    """

    def expand() -> SequenceOf[SequenceOf[Symbol]]:
        longer = [item, counted(item, max(low - 1, 0), high - 1)] if high > 1 else [item]
        return [longer] if low else [[], longer]

    return Nonterminal(f"{item.name}~{low}..{high}", expand, key=("counted", item, low, high), right_recursive=high > 1)
