"""What a configuration is made of: the lexemes in progress, the rules that were begun, and who waits for them.

    for lexeme in lexemes(automaton, c):    # (parser state it began in, state of the lexer, has it read anything?)
        for item in kernel(automaton, lexeme.parser):   # (rule, symbols that are still to come, where it was begun)
            ...

The idea: a configuration is a finite description of all that may follow. What follows a fresh lexeme is, for some item
of its parser state, the item's symbols, and then what follows its rule in the state where the rule began (`waiting`).
That is a grammar whose size is the height of the parser's stack: quotients of grammars, shortest completions and
explanations are all read from here. Every parser state that is met this way is closed already.

Records are those of kernels/parser, as plain numbers. Cost: Python, some µs an item.
The caller holds the automaton's lock and runs under `attempt`: numbers are good for one epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.cfg.rules import Symbol, Terminal
from constrain.cfg.transform.walk import alternatives_of
from constrain.engine.automaton import CompiledRules, TokenAutomaton
from constrain.kernels.parser.advance import WATCH, advance_bytes
from constrain.kernels.parser.closure import close
from constrain.kernels.records import view
from constrain.kernels.records.configurations import ASK_WHOLE, CONFIG, config_successor_cell
from constrain.kernels.records.grammars import alternatives_of as alternatives_record
from constrain.kernels.records.grammars import ignored_terminals, suffix_next, suffix_symbol
from constrain.kernels.records.parser_states import parser_accepts_itself, parser_grammar, predicted_of


class Lexeme(NamedTuple):
    """A lexeme that may be in progress. fresh: nothing of it was read."""

    parser: int
    lexer: int
    fresh: bool


class Item(NamedTuple):
    """A rule that was begun in the parser state `origin` (0: the whole text) and misses the symbols `rest`."""

    rule: int
    rest: tuple[int, ...]
    origin: int


Waiter = tuple[int, int, int]  # (rule, the symbols behind the one that it waits for as a SUFFIX list, origin)


def lexemes(automaton: TokenAutomaton, configuration: int) -> list[Lexeme]:
    """The pairs of a configuration, in its order (under the greedy lexer: the longest first)."""
    pairs = view.pairs(automaton.A, configuration).tolist()
    return [Lexeme(p >> 1, lexer or automaton.call(close, p >> 1), bool(p & 1)) for p, lexer in pairs]


def kernel(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items of a parser state that were not predicted in it."""
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in kernel_rows(automaton, parser)]


def kernel_rows(automaton: TokenAutomaton, parser: int) -> list[list[int]]:
    """The same as [rule, what is still to come as a SUFFIX list, origin]."""
    rows: list[list[int]] = view.items(automaton.A, parser).tolist()
    return rows


def is_final(automaton: TokenAutomaton, parser: int) -> bool:
    """Whether the whole text may have ended with the last lexeme (it may also end by what derives the empty text)."""
    return bool(parser_accepts_itself(automaton.A, parser))


def scanning(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items that wait for a terminal, the first of their rest; predicted ones before the others."""
    return _items(automaton, _closed(automaton, parser, waiting=False))


def waiting(automaton: TokenAutomaton, parser: int, symbol: int | None = None) -> list[Item]:
    """The items that wait for a nonterminal (`symbol`: for this one), the first of their rest; predicted ones too."""
    rows = _closed(automaton, parser, waiting=True)
    if symbol is not None:
        rows = rows[_firsts(automaton, rows) == symbol]
    return _items(automaton, rows)


class Waiters:
    """Who waits for a symbol in a parser state, looked up; good for one epoch.

    PERF: of thousands of items few are asked for. What a state predicts is shared with other states, and read once.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self.automaton = automaton
        self._own: dict[int, dict[int, list[Waiter]]] = {}  # by parser state, by symbol
        self._predicted: dict[int, dict[int, list[Waiter]]] = {}  # by where the predictions are, by symbol

    def of(self, parser: int, symbol: int) -> list[Waiter]:
        """The items that wait for the symbol."""
        own, predicted = self._tables(parser)
        found = [(rule, rest, parser) for rule, rest, _ in predicted.get(symbol, ())]
        return found + own.get(symbol, [])

    def symbols(self, parser: int) -> set[int]:
        """The symbols that some item waits for."""
        own, predicted = self._tables(parser)
        return own.keys() | predicted.keys()

    def _tables(self, parser: int) -> tuple[dict[int, list[Waiter]], dict[int, list[Waiter]]]:
        A = self.automaton.A
        if parser not in self._own:
            self._own[parser] = self._table(view.own_rows(A, parser, waiting=True, scanning=True))
        at = predicted_of(A, parser)
        if at not in self._predicted:
            pairs = view.predicted_rows(A, parser, waiting=True, scanning=True)
            self._predicted[at] = self._table(np.insert(pairs, 2, 0, axis=1))
        return self._own[parser], self._predicted[at]

    def _table(self, rows: NDArray[np.int32]) -> dict[int, list[Waiter]]:
        A = self.automaton.A
        symbols, rests = view.symbols_of(A, rows[:, 1]).tolist(), view.rests_of(A, rows[:, 1]).tolist()
        found: dict[int, list[Waiter]] = {}
        for symbol, rule, rest, origin in zip(symbols, rows[:, 0].tolist(), rests, rows[:, 2].tolist(), strict=True):
            found.setdefault(symbol, []).append((rule, rest, origin))
        return found


def _closed(automaton: TokenAutomaton, parser: int, waiting: bool) -> NDArray[np.int32]:
    """The items of a parser state that wait for a nonterminal (waiting), or for a terminal. int32[items, 3]

    PERF: of thousands of items few are asked for, so they are chosen as rows.
    """
    A = automaton.A
    rows = view.own_rows(A, parser, waiting, not waiting)
    pairs = view.predicted_rows(A, parser, waiting, not waiting)
    return np.concatenate([np.insert(pairs, 2, parser, axis=1), rows]) if len(pairs) else rows


def ignored(automaton: TokenAutomaton, parser: int) -> list[int]:
    """The terminals that may stand before any other."""
    A = automaton.A
    terminals: list[int] = view.list_items(A, ignored_terminals(A, parser_grammar(A, parser))).tolist()
    return terminals


def after(automaton: TokenAutomaton, configuration: int, text: bytes) -> int:
    """The configuration after a text; `NONE` if no member goes on so."""
    words = np.frombuffer(text, np.uint8).astype(np.int32)
    state = automaton.call(advance_bytes, configuration, words)
    return state & (WATCH - 1)


def alike(automaton: TokenAutomaton, configuration: int, byte: int) -> NDArray[np.bool_]:
    """The bytes that lead where this one does, which was read from the configuration before: those that its lexers do
    not tell apart. bool[256]"""
    A = automaton.A
    if A[config_successor_cell(A, configuration, byte)] == ASK_WHOLE:
        configuration = int(A[configuration + CONFIG.WHOLE])
    classes = view.byte_classes(A, configuration)
    found: NDArray[np.bool_] = classes == classes[byte]
    return found


def symbols(automaton: TokenAutomaton, rules: CompiledRules) -> dict[int, Symbol]:
    """What the records stand for: every symbol of a grammar that was reached so far."""
    start: Symbol = rules.grammar.start
    found: dict[int, Symbol] = {}
    seen: set[Symbol] = {start}
    stack = [start]
    while stack:
        symbol = stack.pop()
        record = automaton.symbol(symbol, rules)
        found[record] = symbol
        if isinstance(symbol, Terminal):
            found[automaton._terminal(symbol)] = symbol  # of one that may be nothing, this is the part that is not
        elif alternatives_record(automaton.A, record):  # reached, perhaps through an equal nonterminal
            fresh = {each for alternative in alternatives_of(symbol) for each in alternative} - seen
            seen |= fresh
            stack.extend(fresh)
    return found


def _items(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> list[Item]:
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in rows.tolist()]


def _firsts(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """The symbol that each item waits for. int32[items]"""
    firsts: NDArray[np.int32] = view.symbols_of(automaton.A, rows[:, 1])
    return firsts


def suffix(automaton: TokenAutomaton, record: int) -> tuple[int, ...]:
    """The symbols of a SUFFIX list."""
    found = []
    while record:
        found.append(suffix_symbol(automaton.A, record))
        record = suffix_next(automaton.A, record)
    return tuple(found)
