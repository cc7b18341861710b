"""What a configuration is made of: the lexemes in progress, the rules that were begun, and who waits for them.

    for lexeme in lexemes(automaton, c):    # (parser state it began in, state of the lexer, has it read anything?)
        for item in kernel(automaton, lexeme.parser):   # (rule, symbols that are still to come, where it was begun)
            ...

The idea: a configuration is a finite description of all that may follow. What follows a fresh lexeme is, for some item
of its parser state, the item's symbols, and then what follows its rule in the state where the rule began (`waiting`).
That is a grammar whose size is the height of the parser's stack: quotients of grammars, shortest completions and
explanations are all read from here. Every parser state that is met this way is closed already.

Records are those of kernels/configurations.py and kernels/earley.py, as plain numbers. Cost: Python, some µs an item.
The caller holds the automaton's lock and runs under `attempt`: numbers are good for one epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from constrain.engine.automaton import Rules, TokenAutomaton
from constrain.grammar.rules import Symbol, Terminal
from constrain.grammar.walk import alternatives_of
from constrain.kernels import arena, configurations, earley

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


def lexemes(automaton: TokenAutomaton, configuration: int) -> list[Lexeme]:
    """The pairs of a configuration, in its order (under the greedy lexer: the longest first)."""
    A = automaton.A
    stop = configuration + arena.KEY + (int(A[configuration]) >> arena.KIND_BITS)
    words = A[configuration + arena.KEY + 1 : stop].tolist()
    pairs = zip(words[::2], words[1::2], strict=True)
    return [Lexeme(p >> 1, lexer or automaton.call(earley.close, p >> 1), bool(p & 1)) for p, lexer in pairs]


def kernel(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items of a parser state that were not predicted in it."""
    A = automaton.A
    stop = parser + arena.KEY + (int(A[parser]) >> arena.KIND_BITS)
    return _items(automaton, parser + arena.KEY + 2, stop)


def is_final(automaton: TokenAutomaton, parser: int) -> bool:
    """Whether the whole text may have ended with the last lexeme (it may also end by what derives the empty text)."""
    return bool(automaton.A[parser + arena.KEY + 1])


def scanning(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items that wait for a terminal, the first of their rest; predicted ones before the others."""
    closure = int(automaton.A[parser + earley.CLOSURE])
    start = closure + 2 + 3 * int(automaton.A[closure])
    own = _items(automaton, start, start + 3 * int(automaton.A[closure + 1]))
    return _predicted(automaton, parser)[1] + own


def waiting(automaton: TokenAutomaton, parser: int) -> list[Item]:
    """The items that wait for a nonterminal, the first of their rest; predicted ones too."""
    closure = int(automaton.A[parser + earley.CLOSURE])
    own = _items(automaton, closure + 2, closure + 2 + 3 * int(automaton.A[closure]))
    return own + _predicted(automaton, parser)[0]


def _predicted(automaton: TokenAutomaton, parser: int) -> tuple[list[Item], list[Item]]:
    """The predicted items that wait for a nonterminal, and those that wait for a terminal."""
    A = automaton.A
    at = int(A[parser + earley.PREDICTED])
    if not at:
        return [], []
    n, m = A[at + 1 : at + 3].tolist()
    pairs: list[int] = A[at + 3 : at + 3 + 2 * (n + m)].tolist()
    items = [Item(lhs, _rest(automaton, suffix), parser) for lhs, suffix in zip(pairs[::2], pairs[1::2], strict=True)]
    return items[:n], items[n:]


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


def symbols(automaton: TokenAutomaton, rules: Rules) -> dict[int, Symbol]:
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


def _items(automaton: TokenAutomaton, start: int, stop: int) -> list[Item]:
    words = automaton.A[start:stop].tolist()
    triples = zip(words[0::3], words[1::3], words[2::3], strict=True)
    return [Item(rule, _rest(automaton, suffix), origin) for rule, suffix, origin in triples]


def _rest(automaton: TokenAutomaton, suffix: int) -> tuple[int, ...]:
    """The symbols of a SUFFIX list."""
    found = []
    while suffix:
        symbol, suffix = automaton.A[suffix + arena.KEY : suffix + arena.KEY + 2].tolist()
        found.append(symbol)
    return tuple(found)
