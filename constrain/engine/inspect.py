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
from constrain.kernels.parser import configurations, earley
from constrain.kernels.records import arena

LEXER = earley.LEXER  # the word of a parser state that names the state of the lexer where its lexemes begin


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
    A = automaton.A
    stop = configuration + arena.KEY + (int(A[configuration]) >> arena.KIND_BITS)
    words = A[configuration + arena.KEY + 1 : stop].tolist()
    pairs = zip(words[::2], words[1::2], strict=True)
    return [Lexeme(p >> 1, lexer or automaton.call(earley.close, p >> 1), bool(p & 1)) for p, lexer in pairs]


def kernel(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items of a parser state that were not predicted in it."""
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in kernel_rows(automaton, parser)]


def kernel_rows(automaton: TokenAutomaton, parser: int) -> list[list[int]]:
    """The same as [rule, what is still to come as a SUFFIX list, origin]."""
    A = automaton.A
    stop = parser + arena.KEY + (int(A[parser]) >> arena.KIND_BITS)
    rows: list[list[int]] = A[parser + arena.KEY + 2 : stop].reshape(-1, 3).tolist()
    return rows


def is_final(automaton: TokenAutomaton, parser: int) -> bool:
    """Whether the whole text may have ended with the last lexeme (it may also end by what derives the empty text)."""
    return bool(automaton.A[parser + arena.KEY + 1])


def scanning(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items that wait for a terminal, the first of their rest; predicted ones before the others."""
    return _items(automaton, _closed(automaton, parser, 1))


def waiting(automaton: TokenAutomaton, parser: int, symbol: int | None = None) -> list[Item]:
    """The items that wait for a nonterminal (`symbol`: for this one), the first of their rest; predicted ones too."""
    rows = _closed(automaton, parser, 0)
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
            at = int(A[parser + earley.CLOSURE])
            start, items = at + 2, int(A[at]) + int(A[at + 1])
            self._own[parser] = self._table(A[start : start + 3 * items].reshape(-1, 3))
        at = int(A[parser + earley.PREDICTED])
        if at not in self._predicted:
            start, items = at + 3, int(A[at + 1]) + int(A[at + 2]) if at else 0
            pairs = A[start : start + 2 * items].reshape(-1, 2)
            self._predicted[at] = self._table(np.insert(pairs, 2, 0, axis=1))
        return self._own[parser], self._predicted[at]

    def _table(self, rows: NDArray[np.int32]) -> dict[int, list[Waiter]]:
        A = self.automaton.A
        symbols, rests = A[rows[:, 1] + arena.KEY].tolist(), A[rows[:, 1] + arena.KEY + 1].tolist()
        found: dict[int, list[Waiter]] = {}
        for symbol, rule, rest, origin in zip(symbols, rows[:, 0].tolist(), rests, rows[:, 2].tolist(), strict=True):
            found.setdefault(symbol, []).append((rule, rest, origin))
        return found


def _closed(automaton: TokenAutomaton, parser: int, which: int) -> NDArray[np.int32]:
    """The items of a parser state that wait for a nonterminal (which = 0) or a terminal (1). int32[items, 3]

    PERF: of thousands of items few are asked for, so they are chosen as rows.
    """
    A = automaton.A
    closure = int(A[parser + earley.CLOSURE])
    counts = A[closure : closure + 2].tolist()
    own = closure + 2 + (3 * counts[0] if which else 0)
    rows: NDArray[np.int32] = A[own : own + 3 * counts[which]].reshape(-1, 3)
    at = int(A[parser + earley.PREDICTED])
    if not at:
        return rows
    counts = A[at + 1 : at + 3].tolist()
    start = at + 3 + (2 * counts[0] if which else 0)
    pairs = A[start : start + 2 * counts[which]].reshape(-1, 2)
    return np.concatenate([np.insert(pairs, 2, parser, axis=1), rows])


def ignored(automaton: TokenAutomaton, parser: int) -> list[int]:
    """The terminals that may stand before any other."""
    grammar = int(automaton.A[parser + arena.KEY])
    at = int(automaton.A[grammar + earley.IGNORED])
    found: list[int] = automaton.A[at + 1 : at + 1 + int(automaton.A[at])].tolist()
    return found


def after(automaton: TokenAutomaton, configuration: int, text: bytes) -> int:
    """The configuration after a text; `arena.NONE` if no member goes on so."""
    words = np.frombuffer(text, np.uint8).astype(np.int32)
    state = automaton.call(configurations.advance_bytes, configuration, words)
    return state & (configurations.WATCH - 1)


def alike(automaton: TokenAutomaton, configuration: int, byte: int) -> NDArray[np.bool_]:
    """The bytes that lead where this one does, which was read from the configuration before: those that its lexers do
    not tell apart. bool[256]"""
    A = automaton.A
    classes = _classes(A, configuration)
    row = int(A[configuration + configurations.ROW_OF])
    if A[row + int(classes[byte])] == configurations.ASK_WHOLE:
        classes = _classes(A, int(A[configuration + configurations.WHOLE]))
    found: NDArray[np.bool_] = classes == classes[byte]
    return found


def _classes(A: NDArray[np.int32], configuration: int) -> NDArray[np.uint8]:
    """The class of each byte in a configuration from which some byte was read. uint8[256]"""
    at = int(A[configuration + configurations.PART_OF]) + arena.KEY
    return A[at : at + 64].view(np.uint8)


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
        elif automaton.A[record + earley.ALTERNATIVES]:  # reached, perhaps through an equal nonterminal
            fresh = {each for alternative in alternatives_of(symbol) for each in alternative} - seen
            seen |= fresh
            stack.extend(fresh)
    return found


def _items(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> list[Item]:
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in rows.tolist()]


def _firsts(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """The symbol that each item waits for. int32[items]"""
    firsts: NDArray[np.int32] = automaton.A[rows[:, 1] + arena.KEY]
    return firsts


def suffix(automaton: TokenAutomaton, record: int) -> tuple[int, ...]:
    """The symbols of a SUFFIX list."""
    found = []
    while record:
        symbol, record = automaton.A[record + arena.KEY : record + arena.KEY + 2].tolist()
        found.append(symbol)
    return tuple(found)
