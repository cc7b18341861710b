"""Indentation written into the rules: a grammar over lines and blocks becomes one over texts, as a text reaches it.

The idea (note 0006): a rule X becomes nonterminals X[f, a>b]@c, made on demand and equal when their keys are:

    f       are we between brackets? Then line breaks are ignored, and no line ends
    a>b     are we at the beginning of a line (1), before its indentation, or inside of it (0); before and after X
    c       the column of the block around; only in rules that reach a line's beginning

The end of a line takes a>b from 0 to 1, and is a terminal of its own; whatever comes first on a line is preceded by
exactly the indentation of its block (`layout.indentation`). An indent is a chain over runs of spaces and of tabs: after
each, the block may begin. A run is one lexeme, so the columns on its way are never asked what may begin there. A
dedent is nothing at all: the line that follows asks for the indentation of the block around. So no column is guessed,
one that fits no block is refused, and a parser state knows the columns of all open blocks because they are in what it
waits for.

Cost: a table of pairs a>b per rule when the grammar is read; then one nonterminal for each rule and column that a text
meets. A line end completes every block that may end there: linear in the depth of the nesting.
Limits: a block begins at column MAX_COLUMN at most. A block, and a bracket, begins and ends in one alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from constrain.automata import syntax
from constrain.cfg.ebnf import Alternative, Counted, Table, TableSymbol, written_rule
from constrain.cfg.layout import EOL, Column, Layout, empty_lines, indentation, line_end
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.analysis import nullable_rules, nullable_symbol
from constrain.errors import GrammarError, UnsatisfiableError

MAX_COLUMN = 400
MAX_SPACES, MAX_TABS = 32, 8  # that are one lexeme of an indent
Pairs = frozenset[tuple[int, int]]  # (at, to) of a symbol: 1 at the beginning of a line, 0 inside of one
_STAY: Pairs = frozenset({(0, 0), (1, 1)})
_FORM_FEED = Terminal(syntax.literal("\f"), "form feed")
_SPACES = [Terminal(syntax.literal(" " * n), f"{n} spaces") for n in range(1, MAX_SPACES + 1)]
_TABS = [Terminal(syntax.literal("\t" * n), f"{n} tabs") for n in range(1, MAX_TABS + 1)]


def indented(
    table: Table,
    start: str,
    layout: Layout,
    ignore: tuple[Terminal, ...],
    right_recursive: frozenset[str],
    place: Callable[[str], str | None],
) -> Grammar:
    """The grammar of texts.

    table: its rules, where the layout's declared terminals are names. ignore: what is ignored inside a line.
    right_recursive: rules to flag so. place: where a rule is defined, drawn.
    Raises GrammarError for blocks and brackets that an alternative leaves open, UnsatisfiableError if nothing fits.
    """
    _check_nesting(table, layout, place)
    lines = _Lines(table, layout, ignore, right_recursive)
    ends = [to for at, to in sorted(lines.pairs(start, False)) if at == 1]
    if not ends:
        raise UnsatisfiableError(
            f"the start rule {start!r} derives no text in lines",
            place=place(start),
            fix=f"end each line with {layout.newline}, and put {layout.indent} right behind one",
        )
    return Grammar(lines.start(start, ends), (), "greedy", b"\n")


class _Place(NamedTuple):
    """Where in the layout an alternative stands: between brackets?, at a line's beginning?, columns, innermost last."""

    bracket: bool
    at: int
    columns: tuple[Column, ...]


class _At(NamedTuple):
    """As `_Place`, whatever the columns are: how many blocks have ended since the first symbol."""

    bracket: bool
    at: int
    ended: int = 0


class _Later(NamedTuple):
    """A symbol that depends on columns: given these, `make` makes it from the other words."""

    make: Callable[..., Symbol]
    ended: int
    words: tuple[Any, ...]


@dataclass(eq=False)
class _Lines:
    """What one grammar's nonterminals have in common; its number makes their keys differ from other grammars'."""

    table: Table
    layout: Layout
    ignore: tuple[Terminal, ...]
    right_recursive: frozenset[str]
    made: dict[object, Nonterminal] = field(default_factory=dict)
    number: int = field(default_factory=count().__next__)

    def __post_init__(self) -> None:
        self.known: dict[tuple[str, bool], Pairs] = {}
        self.ways: dict[tuple[object, ...], list[list[Symbol | _Later]]] = {}
        self._find_pairs()
        self.nullable = nullable_rules(self.table)
        self.hoisted = self._find_hoisted()
        self.indented = self._find_indented()
        self.line_end = line_end(self.ignore, self.layout.newline)

    # --- what can be said before any text -----------------------------------------------------------------------------

    def _find_pairs(self) -> None:
        """The least fixed point of `pairs`."""
        self.known = {(name, bracket): frozenset() for name in self.table for bracket in (False, True)}
        changed = True
        while changed:
            changed = False
            for (name, bracket), before in list(self.known.items()):
                found = before.union(*(self._pairs_of_alternative(each, bracket) for each in self.table[name]))
                changed = changed or found != before
                self.known[name, bracket] = found

    def _pairs_of_alternative(self, alternative: Alternative, bracket: bool) -> Pairs:
        pairs, depth = _STAY, 0
        for symbol in alternative:
            depth -= self._is(symbol, self.layout.close)
            pairs = _product(pairs, self.pairs(symbol, bracket or depth > 0))
            depth += self._is(symbol, self.layout.open)
        return pairs if not bracket else pairs & {(0, 0)}

    def pairs(self, symbol: TableSymbol, bracket: bool) -> Pairs:
        """From where to where a symbol leads."""
        if isinstance(symbol, Counted):
            item = self.pairs(symbol.symbol, bracket)
            power = _power(item, symbol.low)
            return _product(power, _power(item | _STAY, min(symbol.high - symbol.low, 2)))
        if isinstance(symbol, Terminal):
            return frozenset({(0, 0)}) if bracket else frozenset({(0, 0), (1, 0)})
        assert isinstance(symbol, str), "the reader refuses embedded parts under lexer='greedy'"
        if symbol in self.layout.declared:
            way = {self.layout.newline: (0, 1), self.layout.indent: (1, 0), self.layout.dedent: (1, 1)}[symbol]
            return frozenset() if bracket else frozenset({way})
        return self.known[symbol, bracket]

    def _find_hoisted(self) -> frozenset[str]:
        """The rules all of whose texts begin with a terminal, if not empty: the indentation may be read before them.

        The greatest fixed point.
        """
        hoisted = set(self.table)
        while True:
            fewer = {name for name in hoisted if all(self._is_hoisted(each, hoisted) for each in self.table[name])}
            if fewer == hoisted:
                return frozenset(hoisted)
            hoisted = fewer

    def _is_hoisted(self, alternative: Alternative, hoisted: set[str]) -> bool:
        for symbol in alternative:
            inner = symbol.symbol if isinstance(symbol, Counted) else symbol
            if isinstance(inner, str) and (inner in self.layout.declared or inner not in hoisted):
                return False
            if not nullable_symbol(symbol, self.nullable):
                return True
        return True

    def _find_indented(self) -> frozenset[str]:
        """The rules outside of brackets that reach the beginning of a line: those that a column belongs to."""
        found: set[str] = {name for name in self.table if name == self.layout.indent}
        while True:
            more = {
                name
                for name, alternatives in self.table.items()
                if any(self._asks_for_column(each, found) for each in alternatives)
            }
            if more <= found:
                return frozenset(found)
            found |= more

    def _asks_for_column(self, alternative: Alternative, found: set[str]) -> bool:
        """Whether some symbol is, or reaches, an indent, or may come first on a line after another of these."""
        at = {0}
        for symbol in alternative:
            inner = symbol.symbol if isinstance(symbol, Counted) else symbol
            if inner == self.layout.indent or inner in found:
                return True
            if 1 in at and inner not in (self.layout.dedent, self.layout.newline):
                return True
            at = {to for start, to in self.pairs(symbol, False) if start in at}
        return False

    def _is(self, symbol: TableSymbol, names: Sequence[str]) -> bool:
        return isinstance(symbol, Terminal) and is_named(symbol, names)

    # --- nonterminals -------------------------------------------------------------------------------------------------

    def start(self, name: str, ends: list[int]) -> Nonterminal:
        """The whole text: empty lines, then the rule at column 0."""
        here = _Place(False, 1, (Column(),))

        def expand() -> list[list[Symbol]]:
            wholes = [[*symbols] for end in ends for symbols in self._sequences((name,), here, end)]
            return [*wholes, *([empty_lines(self.ignore), *whole] for whole in wholes)]

        return Nonterminal("start", expand, key=(self.number, "start"))

    def rule(self, symbol: str | Counted, here: _Place, to: int) -> Nonterminal:
        """X[f, a>b]@c."""
        name = symbol if isinstance(symbol, str) else symbol.symbol
        has_column = not here.bracket and self._has_column(symbol, here.at, to)
        place = here if has_column else here._replace(columns=())
        shown = f"{name}@{here.columns[-1].column}" if has_column else str(name)

        right_recursive = isinstance(symbol, Counted) or symbol in self.right_recursive
        return self._made(shown, self._expand_rule, (symbol, place, to), right_recursive)

    def _expand_rule(self, symbol: str | Counted, here: _Place, to: int) -> list[list[Symbol]]:
        alternatives = self.table[symbol] if isinstance(symbol, str) else _links(symbol)
        return [symbols for each in alternatives for symbols in self._sequences(each, here, to)]

    def _has_column(self, symbol: str | Counted, at: int, to: int) -> bool:
        """Whether a rule outside of brackets has to do with lines."""
        name = symbol if isinstance(symbol, str) else symbol.symbol
        return at == 1 or name in self.indented or (isinstance(symbol, Counted) and to == 1)

    def block(self, rest: Alternative, here: _Place, column: Column, to: int, last: str = "") -> Nonterminal:
        """What follows an indent, when the line is indented to `column` so far; here: outside of the block.

        last: the character of the run before, if that run would have taken one more of them.
        """
        return self._made(f"block@{column.column}", self._expand_block, (rest, here, column, to, last), True)

    def _expand_block(self, rest: Alternative, here: _Place, column: Column, to: int, last: str) -> list[list[Symbol]]:
        ways: list[list[Symbol]] = [[_FORM_FEED, self.block(rest, here, Column(), to)]]
        for run, further, character in self._runs(column, last):
            ways.append([run, self.block(rest, here, further, to, character)])
        if column.is_inside(here.columns[-1]):
            inside = _Place(False, 0, (*here.columns, column))
            ways += self._sequences(rest, inside, to)
        return ways

    def _runs(self, column: Column, last: str) -> Iterator[tuple[Terminal, Column, str]]:
        """(the lexeme, the column behind it, its character unless the run is the longest that there is)."""
        tab = self.layout.tab
        behind = column
        for n, run in enumerate(_SPACES if last != " " else (), start=1):
            if behind.column < MAX_COLUMN:
                behind = behind.after_space()
                yield run, behind, " " if n < MAX_SPACES else ""
        behind = column
        for n, run in enumerate(_TABS if last != "\t" else (), start=1):
            if tab is not None and behind.column < MAX_COLUMN:
                behind = behind.after_tab(tab)
                yield run, behind, "\t" if n < MAX_TABS else ""

    def _made(
        self, name: str, expand: Callable[..., list[list[Symbol]]], key: tuple[object, ...], right_recursive: bool
    ) -> Nonterminal:
        if key not in self.made:  # PERF: no closures, half of all objects that the collector of garbage looked at
            self.made[key] = Nonterminal(name, partial(expand, *key), (self.number, *key), right_recursive)
        return self.made[key]

    def _sequences(self, alternative: Alternative, here: _Place, to: int) -> list[list[Symbol]]:
        """An alternative's symbols, for each way to lead from `here` to `to`."""
        # PERF: the same for all columns but for some symbols; a block is asked about at a hundred columns and more
        key = (alternative, here.bracket, here.at, to)
        ways = self.ways.get(key)
        if ways is None:
            ways = self.ways[key] = list(self._ways(alternative, _At(here.bracket, here.at), to))
        columns, n = here.columns, len(here.columns)
        return [
            [each.make(columns[: n - each.ended], *each.words) if isinstance(each, _Later) else each for each in way]
            for way in ways
        ]

    def _ways(
        self, rest: Alternative, here: _At, to: int, closed: tuple[bool, ...] = ()
    ) -> Iterator[list[Symbol | _Later]]:
        """closed: for each bracket that the alternative has opened, whether one was open before it."""
        if not rest:
            if here.at == to:
                yield []
            return
        symbol, rest = rest[0], rest[1:]
        if symbol == self.layout.indent:
            if here.at == 1 and not here.bracket and (0, to) in self._pairs_of_alternative(rest, False):
                yield [_Later(self._block_in, here.ended, (rest, to))]
            return
        if symbol == self.layout.dedent:
            yield from self._ways(rest, here._replace(ended=here.ended + 1), to, closed)
            return
        outer = here.bracket
        if self._is(symbol, self.layout.close):
            outer, closed = closed[-1], closed[:-1]
        if self._is(symbol, self.layout.open):
            outer, closed = True, (*closed, here.bracket)
        for at, after in sorted(self.pairs(symbol, here.bracket)):
            if at != here.at:
                continue
            first = self._symbols(symbol, here, after, outer)
            for following in self._ways(rest, here._replace(bracket=outer, at=after), to, closed):
                yield [*first, *following]

    def _symbols(self, symbol: TableSymbol, here: _At, after: int, bracket: bool) -> list[Symbol | _Later]:
        """One symbol of an alternative, with the indentation before it; bracket: are we between brackets after it?"""
        if symbol == self.layout.newline:
            return [self.line_end]
        before: list[Symbol | _Later] = [_Later(self._indentation, here.ended, ())] if here.at == 1 else []
        if isinstance(symbol, Terminal):
            return [*before, self._terminal(symbol, bracket)]
        assert isinstance(symbol, str | Counted)
        name = symbol.symbol if isinstance(symbol, Counted) else symbol
        hoisted = isinstance(name, Terminal) or name in self.hoisted
        if before and hoisted and not nullable_symbol(symbol, self.nullable):
            return [*before, self._rule_at(symbol, here._replace(at=0), after)]
        return [self._rule_at(symbol, here, after)]

    def _rule_at(self, symbol: str | Counted, here: _At, to: int) -> Symbol | _Later:
        if here.bracket or not self._has_column(symbol, here.at, to):
            return self.rule(symbol, _Place(here.bracket, here.at, ()), to)
        return _Later(self._rule_in, here.ended, (symbol, here.at, to))

    def _rule_in(self, columns: tuple[Column, ...], symbol: str | Counted, at: int, to: int) -> Symbol:
        return self.rule(symbol, _Place(False, at, columns[-1:]), to)

    def _block_in(self, columns: tuple[Column, ...], rest: Alternative, to: int) -> Symbol:
        return self.block(rest, _Place(False, 1, columns), Column(), to)

    def _indentation(self, columns: tuple[Column, ...]) -> Symbol:
        return indentation(columns[-1], self.layout.tab)

    def _terminal(self, terminal: Terminal, bracket: bool) -> Terminal:
        """A terminal that says what is ignored after it."""
        ignored = (*self.ignore, EOL) if bracket else self.ignore
        if terminal.name in self.layout.verbatim:
            ignored = ()
        return Terminal(
            terminal.node, terminal.name, terminal.priority, terminal.literal, terminal.excluding, after=ignored
        )


def is_named(terminal: Terminal, names: Sequence[str]) -> bool:
    """Whether a terminal is one of these, by its name or its only text."""
    node = terminal.node
    only = node.texts[0] if isinstance(node, syntax.Literals) and len(node.texts) == 1 else None
    return terminal.name in names or only in names


def _links(symbol: Counted) -> list[Alternative]:
    """`x~low..high`, one copy at a time."""
    rest: Alternative = (Counted(symbol.symbol, max(symbol.low - 1, 0), symbol.high - 1),) if symbol.high > 1 else ()
    longer: Alternative = (symbol.symbol, *rest)
    return [longer] if symbol.low else [(), longer]


def _product(left: Pairs, right: Pairs) -> Pairs:
    return frozenset((a, c) for a, b in left for b2, c in right if b == b2)


def _power(pairs: Pairs, exponent: int) -> Pairs:
    """A relation with itself, `exponent` times; by squaring, since exponents may be large."""
    result, square = _STAY, pairs
    while exponent:
        result = _product(result, square) if exponent & 1 else result
        square, exponent = _product(square, square), exponent >> 1
    return result


def _check_nesting(table: Table, layout: Layout, place: Callable[[str], str | None]) -> None:
    """Raises GrammarError if an alternative leaves a block or a bracket open, or closes what it did not open."""
    for name, alternatives in table.items():
        for alternative in alternatives:
            opened: list[str] = []
            for symbol in alternative:
                kind = _kind(symbol, layout)
                if kind in ("indent", "open"):
                    opened.append(kind)
                elif kind and (not opened or opened.pop() != {"dedent": "indent", "close": "open"}[kind]):
                    raise _unbalanced(name, symbol, place, "ends what the alternative did not begin")
            if opened:
                what = next(s for s in reversed(alternative) if _kind(s, layout) == opened[-1])
                raise _unbalanced(name, what, place, "is not ended in its alternative")


def _unbalanced(name: str, symbol: TableSymbol, place: Callable[[str], str | None], fault: str) -> GrammarError:
    shown = symbol.name if isinstance(symbol, Terminal) else str(symbol)
    rule = written_rule(name)
    return GrammarError(
        f"in rule {rule}, {shown} {fault}",
        place=place(rule),
        fix="write the beginning and the end of a block, or of a bracket, into one alternative, outside of groups",
    )


def _kind(symbol: TableSymbol, layout: Layout) -> str:
    if isinstance(symbol, Terminal):
        return "open" if is_named(symbol, layout.open) else "close" if is_named(symbol, layout.close) else ""
    return {layout.indent: "indent", layout.dedent: "dedent"}.get(symbol, "") if isinstance(symbol, str) else ""
