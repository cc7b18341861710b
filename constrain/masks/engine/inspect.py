"""A read-only view of configurations: open lexemes, Earley items, and the items that wait for a symbol.

    for lexeme in lexemes(automaton, c):    # (parser state where it began, lexer state, whether it is still empty)
        for item in kernel(automaton, lexeme.parser):   # (rule, symbols after the dot, parser state where it began)
            ...

The idea: a configuration is a finite description of all continuations. After an empty lexeme come, for some item of its
parser state, the symbols after the item's dot, and then the continuations of its rule in the state where the rule began
(`waiting`). That is a grammar whose size is the depth of the parser's stack. Quotients of grammars, shortest
completions and explanations are computed from it. All parser states that are reached this way are closed.

Records are plain numbers (kernels/records). Cost: Python, a few µs an item.
The caller holds the automaton's lock and runs under `TokenAutomaton.attempt`, except for `lexeme_starts` and
`open_rules`, which take a matcher. Numbers are valid in one epoch of the automaton only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.parser import key_sets
from constrain.kernels.parser import rules as kernel_rules
from constrain.kernels.parser.advance import STATE, advance_bytes
from constrain.kernels.parser.closure import close
from constrain.kernels.records import arena, view
from constrain.kernels.records.configurations import ASK_WHOLE, CONFIG, config_successor_cell
from constrain.kernels.records.grammars import GRAMMAR, NONTERMINAL, SUFFIX, TERMINAL
from constrain.kernels.records.key_sets import KEY_SET
from constrain.kernels.records.parser_states import PARSER
from constrain.languages.automata.memory import words_of
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Symbol, Terminal
from constrain.languages.cfg.transform.walk import alternatives_of
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules, record_by_keys
from constrain.masks.engine.matcher import Matcher


class Lexeme(NamedTuple):
    """A possible lexeme at the end of the text.

    Attributes:
        parser: The parser state where it began.
        lexer: The lexer state after the part that was read.
        fresh: Nothing of it was read yet.
    """

    parser: int
    lexer: int
    fresh: bool


class Item(NamedTuple):
    """An Earley item.

    Attributes:
        rule: The record of its nonterminal.
        rest: The records of the symbols after the dot.
        origin: The parser state where the rule began; 0 for the whole text.
    """

    rule: int
    rest: tuple[int, ...]
    origin: int


Waiter = tuple[int, int, int]  # (rule, SUFFIX list of the symbols after the one that it waits for, origin)


def lexemes(automaton: TokenAutomaton, configuration: int) -> list[Lexeme]:
    """The possible lexemes of a configuration; under the greedy lexer the longest comes first."""
    pairs = view.pairs(automaton.memory.A, configuration).tolist()
    return [Lexeme(p >> 1, lexer or automaton.memory.call(close, p >> 1), bool(p & 1)) for p, lexer in pairs]


def kernel(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The kernel items of a parser state: all but the predicted ones."""
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in kernel_rows(automaton, parser)]


def kernel_rows(automaton: TokenAutomaton, parser: int) -> list[list[int]]:
    """The kernel items as rows [rule, SUFFIX list of the symbols after the dot, origin]."""
    rows: list[list[int]] = view.items(automaton.memory.A, parser).tolist()
    return rows


def is_final(automaton: TokenAutomaton, parser: int) -> bool:
    """True if the whole text may end with the last lexeme, without further symbols that derive the empty text."""
    return bool(PARSER.IS_ACCEPTING(automaton.memory.A, parser))


def scanning(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items with a terminal after the dot; predicted items come first."""
    return _items(automaton, _closed(automaton, parser, waiting=False))


def waiting(automaton: TokenAutomaton, parser: int, symbol: int | None = None) -> list[Item]:
    """The items with a nonterminal after the dot (`symbol`: with this one), predicted items included."""
    rows = _closed(automaton, parser, waiting=True)
    if symbol is not None:
        rows = rows[_firsts(automaton, rows) == symbol]
    return _items(automaton, rows)


class Waiters:
    """The items of parser states by the symbol after the dot. Valid in one epoch.

    PERF: of thousands of items few are needed. The predictions of a state are shared with other states and read once.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self.automaton = automaton
        self._own: dict[int, dict[int, list[Waiter]]] = {}  # by parser state, by symbol
        self._predicted: dict[int, dict[int, list[Waiter]]] = {}  # by the record of the predictions, by symbol

    def of(self, parser: int, symbol: int) -> list[Waiter]:
        """The items of a parser state that wait for the symbol."""
        own, predicted = self._tables(parser)
        return [(rule, rest, parser) for rule, rest, _ in predicted.get(symbol, ())] + own.get(symbol, [])

    def symbols(self, parser: int) -> set[int]:
        """The symbols that some item of a parser state waits for."""
        own, predicted = self._tables(parser)
        return own.keys() | predicted.keys()

    def _tables(self, parser: int) -> tuple[dict[int, list[Waiter]], dict[int, list[Waiter]]]:
        A = self.automaton.memory.A
        if parser not in self._own:
            rows = view.own_rows(A, parser, waiting=True, scanning=True)
            self._own[parser] = self._table(_key_by_key(self.automaton, rows))
        at = PARSER.PREDICTED(A, parser)
        if at not in self._predicted:
            pairs = view.predicted_rows(A, parser, waiting=True, scanning=True)
            self._predicted[at] = self._table(_key_by_key(self.automaton, np.insert(pairs, 2, 0, axis=1)))
        return self._own[parser], self._predicted[at]

    def _table(self, rows: NDArray[np.int32]) -> dict[int, list[Waiter]]:
        A = self.automaton.memory.A
        symbols, rests = view.symbols_of(A, rows[:, 1]).tolist(), view.rests_of(A, rows[:, 1]).tolist()
        table: dict[int, list[Waiter]] = {}
        for symbol, rule, rest, origin in zip(symbols, rows[:, 0].tolist(), rests, rows[:, 2].tolist(), strict=True):
            table.setdefault(symbol, []).append((rule, rest, origin))
        return table


def _closed(automaton: TokenAutomaton, parser: int, waiting: bool) -> NDArray[np.int32]:
    """int32[items, 3]: the items of a parser state that wait for a nonterminal (`waiting`) or for a terminal.

    PERF: of thousands of items few are needed, so they are selected as rows.
    """
    A = automaton.memory.A
    rows = view.own_rows(A, parser, waiting, not waiting)
    pairs = view.predicted_rows(A, parser, waiting, not waiting)
    rows = np.concatenate([np.insert(pairs, 2, parser, axis=1), rows]) if len(pairs) else rows
    return rows if waiting else _key_by_key(automaton, rows)


def _key_by_key(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows of items, with one item for each key in place of those with a KEY_SET record after the dot."""
    of_sets = view.kinds_of(automaton.memory.A, _firsts(automaton, rows)) == KEY_SET.KIND
    if not of_sets.any():
        return rows
    items = rows[~of_sets].tolist()
    for rule, suffix, origin in rows[of_sets].tolist():
        keys = SUFFIX.SYMBOL(automaton.memory.A, suffix)
        items += [[rule, member, origin] for member in members(automaton, keys)]
    return np.array(items, np.int32).reshape(-1, rows.shape[1])


def members(automaton: TokenAutomaton, keys: int) -> list[int]:
    """The SUFFIX lists of the members that a KEY_SET record stands for: a key and what comes behind it."""
    memory, suffixes = automaton.memory, []
    for key in sorted(view.terminals_within(memory.A, memory.call(key_sets.trie_of_keys, keys))):
        rest = memory.call(key_sets.take, keys, key)
        terminal = memory.call_plain(arena.intern4, TERMINAL.KIND, key, 0, 0, 0)
        suffixes.append(memory.call_plain(kernel_rules.suffix_of, terminal, rest))
    return suffixes


def ignored(automaton: TokenAutomaton, parser: int) -> list[int]:
    """The ignored terminals at a parser state."""
    A = automaton.memory.A
    terminals: list[int] = view.list_items(A, GRAMMAR.IGNORED(A, PARSER.GRAMMAR(A, parser))).tolist()
    return terminals


def after(automaton: TokenAutomaton, configuration: int, text: bytes) -> int:
    """The configuration after more text; `arena.NONE` if no text of the language continues so."""
    return automaton.memory.call(advance_bytes, configuration, words_of(text)) & STATE


def alike(automaton: TokenAutomaton, configuration: int, byte: int) -> NDArray[np.bool_]:
    """bool[256]: the bytes that lead to the same configuration as a byte that was read before.

    These are the bytes that no lexer state of the configuration distinguishes from it.
    """
    A = automaton.memory.A
    if A[config_successor_cell(A, configuration, byte)] == ASK_WHOLE:
        configuration = int(A[configuration + CONFIG.WHOLE])
    classes = view.byte_classes(A, configuration)
    same: NDArray[np.bool_] = classes == classes[byte]
    return same


class SymbolNames:
    """The symbols of a grammar that texts have reached so far, by their records. Valid in one epoch.

    names: as of the last call of `read`, which goes on where the one before it found no rules
    """

    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules) -> None:
        self.automaton, self.rules = automaton, rules
        self.names: dict[int, Symbol] = {}
        self._waiting: list[Symbol] = [rules.grammar.start]
        self._seen: set[Symbol] = set(self._waiting)
        self._skipped: set[Symbol] = set()  # members that come next where the one before them is skipped

    def read(self, whole: bool = False) -> dict[int, Symbol]:
        """The names. whole: of JSON objects whose rules are made by the keys so far also where no text was yet."""
        automaton, stack, self._waiting = self.automaton, self._waiting, []
        while stack:
            symbol = stack.pop()
            record = automaton.symbols.record(symbol, self.rules)
            self.names[record] = symbol
            by_keys = _record_by_keys(automaton, symbol, self.rules) if whole else None
            if by_keys is not None:  # a text that begins inside an object has reached the symbol alone before
                self.names[by_keys] = symbol
            if isinstance(symbol, Terminal):  # for a nullable terminal, the record of its nonempty part
                self.names[automaton.symbols.terminal(symbol)] = symbol
            elif NONTERMINAL.ALTERNATIVES(automaton.memory.A, record) or symbol in self._skipped or by_keys is not None:
                # expanded, maybe through an equal one
                alternatives = alternatives_of(symbol)
                new = {inner for alternative in alternatives for inner in alternative} - self._seen
                if NONTERMINAL.KEY_SET(automaton.memory.A, record):
                    self._skipped.update(alternative[0] for alternative in alternatives if len(alternative) == 1)
                self._seen |= new
                stack.extend(new)
            else:
                self._waiting.append(symbol)
        return self.names


def symbols(automaton: TokenAutomaton, rules: CompiledRules, whole: bool = False) -> dict[int, Symbol]:
    """Record -> symbol, for all symbols of a grammar that texts have reached so far (`SymbolNames.read`)."""
    return SymbolNames(automaton, rules).read(whole)


def _record_by_keys(automaton: TokenAutomaton, symbol: Symbol, rules: CompiledRules) -> int | None:
    """The record of a nonterminal among rules that are made by the keys so far; None if they were not."""
    if not isinstance(symbol, PlacedNonterminal):
        return None
    return record_by_keys(automaton.store, symbol, automaton.symbols.shared if symbol.shared else rules)


def _items(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> list[Item]:
    return [Item(rule, suffix(automaton, rest), origin) for rule, rest, origin in rows.tolist()]


def _firsts(automaton: TokenAutomaton, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32[items]: the symbol after the dot of each item."""
    firsts: NDArray[np.int32] = view.symbols_of(automaton.memory.A, rows[:, 1])
    return firsts


def suffix(automaton: TokenAutomaton, record: int) -> tuple[int, ...]:
    """The symbols of a SUFFIX list."""
    symbols = []
    while record:
        symbols.append(SUFFIX.SYMBOL(automaton.memory.A, record))
        record = SUFFIX.NEXT(automaton.memory.A, record)
    return tuple(symbols)


# --- matchers ---------------------------------------------------------------------------------------------------------


def lexeme_starts(matcher: Matcher) -> tuple[frozenset[int], frozenset[int]]:
    """The parser states where the open lexemes of a matcher began: (of lexemes that are not empty, of all lexemes)."""

    def starts(configuration: int) -> tuple[frozenset[int], frozenset[int]]:
        pairs = view.pairs(matcher.compiled.automaton.memory.A, configuration)[
            :, 0
        ].tolist()  # 2 · parser state + fresh
        return frozenset(pair >> 1 for pair in pairs if not pair & 1), frozenset(pair >> 1 for pair in pairs)

    return matcher.locked(starts)


def open_rules(matcher: Matcher) -> frozenset[str]:
    """The names of the rules that have begun and not ended, in any derivation of the text.

    A rule counts as open once its first lexeme may have ended. Cost: visits all open parser states, in Python.
    """
    automaton = matcher.compiled.automaton

    def names(configuration: int) -> frozenset[str]:
        rules: set[int] = set()
        pending = [pair >> 1 for pair in view.pairs(automaton.memory.A, configuration)[:, 0].tolist()]
        seen = set(pending)
        while pending:
            items = kernel_rows(automaton, pending.pop())
            rules.update(rule for rule, _, _ in items)
            new = {origin for _, _, origin in items if origin} - seen
            seen |= new
            pending.extend(new)
        return frozenset(map(automaton.symbols.name_of, rules))

    return matcher.locked(names)
