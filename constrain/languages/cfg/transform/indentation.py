"""Applies a layout: rewrites a grammar over lines and blocks to a lazy grammar over plain text.

The idea (note 0006): a rule X becomes nonterminals X[f, a>b]@c, made on demand:

    f       whether X stands between brackets, where line breaks are ignored and no line ends
    a>b     1 at the beginning of a line, before its indentation; 0 inside a line. a: before X, b: after X
    c       the column of the enclosing block; only for rules that reach the beginning of a line

The end of a line leads from 0 to 1 and is a terminal of its own. The first symbol of a line is preceded by exactly the
indentation of its block (`layout.indentation`). An indent is a sequence of runs of spaces or tabs; after each run the
block may begin. A run is one lexeme, so the parser does not predict a block at the columns inside a run. A dedent is
empty: the next line requires the indentation of the outer block. So no column is guessed, a column that fits no block
is refused, and the parser state knows the columns of all open blocks, because they are in the keys of the nonterminals
that it waits for.

Cost: a table of pairs a>b per rule when the grammar is read; then one nonterminal for each rule and column that a text
reaches. A line end completes every block that may end there: linear in the nesting depth.
Limits: a block begins at column MAX_COLUMN at most. A block or bracket begins and ends in one alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from constrain.errors import GrammarError, UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.cfg.ebnf import Alternative, Counted, Table, TableSymbol, written_rule
from constrain.languages.cfg.layout import EOL, Column, Layout, empty_lines, indentation, line_end
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import nullable_rules, nullable_symbol
from constrain.languages.cfg.transform.walk import without_unproductive

MAX_COLUMN = 400
MOST_RULES = 50_000  # of a grammar whose columns are given
MAX_SPACES, MAX_TABS = 32, 8  # in one lexeme of an indent
Pairs = frozenset[tuple[int, int]]  # (a, b) before and after a symbol: 1 at the beginning of a line, 0 inside a line
_STAY: Pairs = frozenset({(0, 0), (1, 1)})
_FORM_FEED = Terminal(syntax.literal("\f"), "form feed")
_SPACES = [Terminal(syntax.literal(" " * n), f"{n} spaces") for n in range(1, MAX_SPACES + 1)]
_TABS = [Terminal(syntax.literal("\t" * n), f"{n} tabs") for n in range(1, MAX_TABS + 1)]


def apply_layout(
    table: Table,
    start: str,
    layout: Layout,
    ignore: tuple[Terminal, ...],
    right_recursive: frozenset[str],
    place: Callable[[str], str | None],
) -> Grammar:
    """The grammar of texts that have a layout.

    Args:
        table: The rules; the layout's declared terminals occur in them by name.
        start: The name of the start rule.
        layout: The meaning of lines and columns.
        ignore: Terminals that are ignored inside a line.
        right_recursive: The rules to flag so.
        place: Draws the place where a rule is defined.

    Raises:
        GrammarError: An alternative leaves a block or a bracket open.
        UnsatisfiableError: No text fits.

    With `layout.columns` the grammar is finite.
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
    whole = lines.start(start, ends)
    if layout.columns is not None:  # where no column is deeper, no block begins
        productive = without_unproductive(whole, MOST_RULES)
        if productive is None:
            raise GrammarError(
                f"{len(layout.columns)} columns make more than {MOST_RULES:,} rules, or no text fits into them",
                fix="give fewer columns, or more",
            )
        whole = productive
    return Grammar(whole, (), "greedy", b"\n")


class _Position(NamedTuple):
    """A position in the layout of a text.

    Attributes:
        bracket: Whether it is between brackets.
        at: 1 at the beginning of a line, 0 inside a line.
        columns: The columns of the open blocks, innermost last.
    """

    bracket: bool
    at: int
    columns: tuple[Column, ...]


class _Offset(NamedTuple):
    """A position relative to the beginning of an alternative, for any columns.

    Attributes:
        bracket, at: As in `_Position`.
        ended: How many blocks have ended since the beginning of the alternative.
    """

    bracket: bool
    at: int
    ended: int = 0


class _ColumnSymbol(NamedTuple):
    """A symbol that depends on the columns of the open blocks.

    Attributes:
        make: Makes the symbol from the columns and `arguments`.
        ended: How many blocks have ended since the beginning of the alternative.
        arguments: Further arguments of `make`.
    """

    make: Callable[..., Symbol]
    ended: int
    arguments: tuple[Any, ...]


@dataclass(eq=False)
class _Lines:
    """The nonterminals of one grammar. Its number makes their keys differ from those of other grammars."""

    table: Table
    layout: Layout
    ignore: tuple[Terminal, ...]
    right_recursive: frozenset[str]
    made: dict[object, Nonterminal] = field(default_factory=dict)
    number: int = field(default_factory=count().__next__)

    def __post_init__(self) -> None:
        self.pairs_of_rule: dict[tuple[str, bool], Pairs] = {}
        self.templates: dict[tuple[object, ...], list[list[Symbol | _ColumnSymbol]]] = {}
        self._find_pairs()
        self.nullable = nullable_rules(self.table)
        self.hoisted = self._find_hoisted()
        self.indented = self._find_indented()
        self.line_end = line_end(self.ignore, self.layout.newline)

    # --- static analyses ----------------------------------------------------------------------------------------------

    def _find_pairs(self) -> None:
        """Compute `pairs` of all rules: a least fixed point."""
        self.pairs_of_rule = {(name, bracket): frozenset() for name in self.table for bracket in (False, True)}
        changed = True
        while changed:
            changed = False
            for (name, bracket), before in list(self.pairs_of_rule.items()):
                alternatives = self.table[name]
                pairs = before.union(*(self._pairs_of_alternative(symbols, bracket) for symbols in alternatives))
                changed = changed or pairs != before
                self.pairs_of_rule[name, bracket] = pairs

    def _pairs_of_alternative(self, alternative: Alternative, bracket: bool) -> Pairs:
        pairs, depth = _STAY, 0
        for symbol in alternative:
            depth -= self._is(symbol, self.layout.close)
            pairs = _product(pairs, self.pairs(symbol, bracket or depth > 0))
            depth += self._is(symbol, self.layout.open)
        return pairs if not bracket else pairs & {(0, 0)}

    def pairs(self, symbol: TableSymbol, bracket: bool) -> Pairs:
        """The pairs (a, b) such that some text of the symbol leads from a to b."""
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
        return self.pairs_of_rule[symbol, bracket]

    def _find_hoisted(self) -> frozenset[str]:
        """The rules whose nonempty texts all begin with a terminal, so that the indentation can be read before them.

        The greatest fixed point.
        """
        hoisted = set(self.table)
        while True:
            fewer = {
                name for name in hoisted if all(self._is_hoisted(symbols, hoisted) for symbols in self.table[name])
            }
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
        """The rules outside of brackets that reach the beginning of a line, so that they depend on a column."""
        indented: set[str] = {name for name in self.table if name == self.layout.indent}
        while True:
            more = {
                name
                for name, alternatives in self.table.items()
                if any(self._needs_column(symbols, indented) for symbols in alternatives)
            }
            if more <= indented:
                return frozenset(indented)
            indented |= more

    def _needs_column(self, alternative: Alternative, indented: set[str]) -> bool:
        """True if a symbol is or reaches an indent, or may be the first on a line behind another symbol."""
        at = {0}
        for symbol in alternative:
            inner = symbol.symbol if isinstance(symbol, Counted) else symbol
            if inner == self.layout.indent or inner in indented:
                return True
            if 1 in at and inner not in (self.layout.dedent, self.layout.newline):
                return True
            at = {to for start, to in self.pairs(symbol, False) if start in at}
        return False

    def _is(self, symbol: TableSymbol, names: Sequence[str]) -> bool:
        return isinstance(symbol, Terminal) and is_named(symbol, names)

    # --- nonterminals -------------------------------------------------------------------------------------------------

    def start(self, name: str, ends: list[int]) -> Nonterminal:
        """The whole text: empty lines, then the start rule at column 0."""
        here = _Position(False, 1, (Column(),))

        def expand() -> list[list[Symbol]]:
            wholes = [[*symbols] for end in ends for symbols in self._sequences((name,), here, end)]
            return [*wholes, *([empty_lines(self.ignore), *whole] for whole in wholes)]

        return Nonterminal("start", expand, key=(self.number, "start"))

    def rule(self, symbol: str | Counted, here: _Position, to: int) -> Nonterminal:
        """The nonterminal X[f, a>b]@c, with f, a and c from a position and b = `to`."""
        name = symbol if isinstance(symbol, str) else symbol.symbol
        has_column = not here.bracket and self._has_column(symbol, here.at, to)
        position = here if has_column else here._replace(columns=())
        shown = f"{name}@{here.columns[-1].column}" if has_column else str(name)

        right_recursive = isinstance(symbol, Counted) or symbol in self.right_recursive
        return self._nonterminal(shown, self._expand_rule, (symbol, position, to), right_recursive)

    def _expand_rule(self, symbol: str | Counted, here: _Position, to: int) -> list[list[Symbol]]:
        alternatives = self.table[symbol] if isinstance(symbol, str) else _counted_alternatives(symbol)
        return [symbols for alternative in alternatives for symbols in self._sequences(alternative, here, to)]

    def _has_column(self, symbol: str | Counted, at: int, to: int) -> bool:
        """True if a rule outside of brackets depends on the column of the block."""
        name = symbol if isinstance(symbol, str) else symbol.symbol
        return at == 1 or name in self.indented or (isinstance(symbol, Counted) and to == 1)

    def block(self, rest: Alternative, here: _Position, column: Column, to: int, last: str = "") -> Nonterminal:
        """The symbols after an indent, when the line is indented to `column` so far.

        rest: the alternative after the indent. here: the position before the block. last: the character of the previous
        run if that run could have been longer; the next run must then begin with another character.
        """
        return self._nonterminal(f"block@{column.column}", self._expand_block, (rest, here, column, to, last), True)

    def _expand_block(
        self, rest: Alternative, here: _Position, column: Column, to: int, last: str
    ) -> list[list[Symbol]]:
        alternatives: list[list[Symbol]] = [[_FORM_FEED, self.block(rest, here, Column(), to)]]
        for run, further, character in self._runs(column, last):
            alternatives.append([run, self.block(rest, here, further, to, character)])
        if column.is_inside(here.columns[-1]):
            inside = _Position(False, 0, (*here.columns, column))
            alternatives += self._sequences(rest, inside, to)
        return alternatives

    def _expand_in_columns(self, rest: Alternative, here: _Position, to: int) -> list[list[Symbol]]:
        """`_expand_block` where the columns of all blocks are given."""
        alternatives: list[list[Symbol]] = []
        for column in self.layout.columns or ():
            if column.is_inside(here.columns[-1]):
                inside = _Position(False, 0, (*here.columns, column))
                blank = indentation(column, self.layout.tab)
                alternatives += [[blank, *symbols] for symbols in self._sequences(rest, inside, to)]
        return alternatives

    def _runs(self, column: Column, last: str) -> Iterator[tuple[Terminal, Column, str]]:
        """The possible next runs: (lexeme, column after it, its character or "" for the longest run)."""
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

    def _nonterminal(
        self, name: str, expand: Callable[..., list[list[Symbol]]], key: tuple[object, ...], right_recursive: bool
    ) -> Nonterminal:
        if key not in self.made:  # PERF: closures would be half of all objects that the garbage collector visits
            self.made[key] = Nonterminal(name, partial(expand, *key), (self.number, *key), right_recursive)
        return self.made[key]

    def _sequences(self, alternative: Alternative, here: _Position, to: int) -> list[list[Symbol]]:
        """The sequences of symbols of an alternative that lead from a position to `to`."""
        # PERF: sequences at different columns differ in few symbols, and a block is expanded at a hundred columns
        key = (alternative, here.bracket, here.at, to)
        templates = self.templates.get(key)
        if templates is None:
            templates = self.templates[key] = list(self._templates(alternative, _Offset(here.bracket, here.at), to))
        columns, n = here.columns, len(here.columns)
        return [
            [s.make(columns[: n - s.ended], *s.arguments) if isinstance(s, _ColumnSymbol) else s for s in template]
            for template in templates
        ]

    def _templates(
        self, rest: Alternative, here: _Offset, to: int, closed: tuple[bool, ...] = ()
    ) -> Iterator[list[Symbol | _ColumnSymbol]]:
        """The sequences for any columns. closed: for each open bracket, whether another was open before it."""
        if not rest:
            if here.at == to:
                yield []
            return
        symbol, rest = rest[0], rest[1:]
        if symbol == self.layout.indent:
            if here.at == 1 and not here.bracket and (0, to) in self._pairs_of_alternative(rest, False):
                yield [_ColumnSymbol(self._block_in, here.ended, (rest, to))]
            return
        if symbol == self.layout.dedent:
            yield from self._templates(rest, here._replace(ended=here.ended + 1), to, closed)
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
            for following in self._templates(rest, here._replace(bracket=outer, at=after), to, closed):
                yield [*first, *following]

    def _symbols(self, symbol: TableSymbol, here: _Offset, after: int, bracket: bool) -> list[Symbol | _ColumnSymbol]:
        """One symbol of an alternative, with the indentation before it. bracket: whether a bracket is open after it."""
        if symbol == self.layout.newline:
            return [self.line_end]
        before: list[Symbol | _ColumnSymbol] = []
        if here.at == 1:
            before = [_ColumnSymbol(self._indentation, here.ended, ())]
        if isinstance(symbol, Terminal):
            return [*before, self._terminal(symbol, bracket)]
        assert isinstance(symbol, str | Counted)
        name = symbol.symbol if isinstance(symbol, Counted) else symbol
        hoisted = isinstance(name, Terminal) or name in self.hoisted
        if before and hoisted and not nullable_symbol(symbol, self.nullable):
            return [*before, self._rule_at(symbol, here._replace(at=0), after)]
        return [self._rule_at(symbol, here, after)]

    def _rule_at(self, symbol: str | Counted, here: _Offset, to: int) -> Symbol | _ColumnSymbol:
        if here.bracket or not self._has_column(symbol, here.at, to):
            return self.rule(symbol, _Position(here.bracket, here.at, ()), to)
        return _ColumnSymbol(self._rule_in, here.ended, (symbol, here.at, to))

    def _rule_in(self, columns: tuple[Column, ...], symbol: str | Counted, at: int, to: int) -> Symbol:
        return self.rule(symbol, _Position(False, at, columns[-1:]), to)

    def _block_in(self, columns: tuple[Column, ...], rest: Alternative, to: int) -> Symbol:
        if self.layout.columns is not None:
            return self._nonterminal("block", self._expand_in_columns, (rest, _Position(False, 1, columns), to), True)
        return self.block(rest, _Position(False, 1, columns), Column(), to)

    def _indentation(self, columns: tuple[Column, ...]) -> Symbol:
        return indentation(columns[-1], self.layout.tab)

    def _terminal(self, terminal: Terminal, bracket: bool) -> Terminal:
        """The terminal with the terminals that are ignored after it."""
        ignored = (*self.ignore, EOL) if bracket else self.ignore
        if terminal.name in self.layout.verbatim:
            ignored = ()
        return Terminal(
            terminal.node, terminal.name, terminal.priority, terminal.literal, terminal.excluding, ignored_after=ignored
        )


def is_named(terminal: Terminal, names: Sequence[str]) -> bool:
    """True if a terminal's name, or its only text, is one of the names."""
    node = terminal.node
    only = node.texts[0] if isinstance(node, syntax.Literals) and len(node.texts) == 1 else None
    return terminal.name in names or only in names


def _counted_alternatives(symbol: Counted) -> list[Alternative]:
    """The alternatives of `x~low..high`, with one copy each."""
    rest: Alternative = (Counted(symbol.symbol, max(symbol.low - 1, 0), symbol.high - 1),) if symbol.high > 1 else ()
    longer: Alternative = (symbol.symbol, *rest)
    return [longer] if symbol.low else [(), longer]


def _product(left: Pairs, right: Pairs) -> Pairs:
    """The composition of two relations."""
    return frozenset((a, c) for a, b in left for b2, c in right if b == b2)


def _power(pairs: Pairs, exponent: int) -> Pairs:
    """A relation composed with itself `exponent` times; by squaring, since exponents may be large."""
    result, square = _STAY, pairs
    while exponent:
        result = _product(result, square) if exponent & 1 else result
        square, exponent = _product(square, square), exponent >> 1
    return result


def _check_nesting(table: Table, layout: Layout, place: Callable[[str], str | None]) -> None:
    """Raise GrammarError if an alternative leaves a block or a bracket open, or closes one that it did not open."""
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
    """ "open", "close", "indent" or "dedent" for a symbol that opens or closes something, else ""."""
    if isinstance(symbol, Terminal):
        return "open" if is_named(symbol, layout.open) else "close" if is_named(symbol, layout.close) else ""
    return {layout.indent: "indent", layout.dedent: "dedent"}.get(symbol, "") if isinstance(symbol, str) else ""
