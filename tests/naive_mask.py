"""The plain twin of the mask kernels: every token is spelled out, character by character, and asked of a plain oracle.

The idea: an oracle reads *characters* (`RegexOracle` by derivatives, `GrammarOracle` by Earley's algorithm) and knows
nothing of bytes, arenas, inside sets or memoised masks. A token is allowed iff the oracle lives after its characters;
a token that ends within a character is allowed iff some character that begins with these bytes keeps it alive. Tokens
with a common beginning share its steps: a vocabulary of 131,000 tokens takes about a second where much is allowed.

Legend: a *tail* is the bytes of an unfinished character; an oracle's state is whatever `step` gives, None when dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from constrain.languages.automata.syntax import EMPTY, Node
from constrain.languages.cfg.rules import Grammar, Terminal
from naive_grammar import Chart, Earley
from naive_regex import NaiveRegex, _is_empty, _representatives, _within, derivative, nullable

Trie = dict[Any, Any]  # byte -> Trie; None -> ids of the tokens that end here


def byte_trie(tokens: Sequence[bytes | None]) -> Trie:
    """All tokens with bytes, as nested dicts."""
    root: Trie = {}
    for token_id, token in enumerate(tokens):
        if token:
            node = root
            for byte in token:
                node = node.setdefault(byte, {})
            node.setdefault(None, []).append(token_id)
    return root


# --- oracles on characters --------------------------------------------------------------------------------------------


class RegexOracle:
    """A regular language; a state is the language of what may follow."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.representatives = _representatives(node)
        self._steps: dict[tuple[Node, str], Node | None] = {}

    def start(self) -> Node | None:
        """The state before the first character."""
        return None if NaiveRegex(self.node).empty() else self.node

    def step(self, state: Node, character: str) -> Node | None:
        """The state after one more character, or None."""
        key = state, character
        if key not in self._steps:
            rest = derivative(state, character)
            self._steps[key] = None if _is_empty(rest, self.representatives) else rest
        return self._steps[key]

    def accepts(self, state: Node) -> bool:
        """True if the text so far is valid."""
        return nullable(state)


class _Lexeme(NamedTuple):
    """One in progress: where it began, its terminal (None: ignored), what may follow, and of what it must not be."""

    begin: int
    terminal: Terminal | None
    rest: Node
    excluded: tuple[Node, ...]


class GrammarOracle:
    """A context-free language, lexer="dynamic"; a state is (charts after 0, 1, ... characters, lexemes in progress)."""

    def __init__(self, grammar: Grammar) -> None:
        assert grammar.lexer == "dynamic"
        self.earley = Earley(grammar)
        terminals = {
            s for table in self.earley.table.values() for a in table for s in a if isinstance(s, Terminal)
        } | set(self.earley.ignore)
        self.regexes = {t.node: RegexOracle(t.node) for t in terminals}
        self.representatives = sorted({c for oracle in self.regexes.values() for c in oracle.representatives})

    def start(self) -> tuple[tuple[Chart, ...], tuple[_Lexeme, ...]]:
        """The state before the first character."""
        chart = self.earley.initial()
        return (chart,), tuple(self._fresh(chart, 0))

    def _fresh(self, chart: Chart, position: int) -> Iterator[_Lexeme]:
        """The lexemes that may begin in a chart."""
        if chart:
            for terminal in self.earley.admitted(chart):
                yield _Lexeme(position, terminal, terminal.node, tuple(e.node for e in terminal.excluding))
            for terminal in self.earley.ignore:
                yield _Lexeme(position, None, terminal.node, tuple(e.node for e in terminal.excluding))

    def step(self, state: Any, character: str) -> Any:
        """The state after one more character, or None."""
        charts, lexemes = state
        position = len(charts)
        running = []
        items: set[Any] = set()
        for lexeme in lexemes:
            oracle = self.regexes[lexeme.terminal.node] if lexeme.terminal else None
            rest = self._follow(oracle, lexeme.rest, character)
            if rest is None:
                continue
            excluded = tuple(derivative(node, character) for node in lexeme.excluded)
            running.append(lexeme._replace(rest=rest, excluded=excluded))
            if nullable(rest) and not any(map(nullable, excluded)):
                chart = charts[lexeme.begin]
                items |= chart if lexeme.terminal is None else self.earley.scanned(chart, {lexeme.terminal})
        chart = self.earley.close(items, charts, position) if items else frozenset()
        running += self._fresh(chart, position)
        return ((*charts, chart), tuple(running)) if chart or running else None

    def _follow(self, oracle: RegexOracle | None, rest: Node, character: str) -> Node | None:
        if oracle is not None:
            return oracle.step(rest, character)
        following = derivative(rest, character)
        return None if following == EMPTY else following

    def accepts(self, state: Any) -> bool:
        """True if the text so far is valid."""
        charts, _ = state
        return self.earley.accepts(charts[-1])


# --- bytes ------------------------------------------------------------------------------------------------------------


def beginnings(tail: bytes) -> tuple[int, int] | None:
    """The range of characters whose UTF-8 (RFC 3629, section 4) begins with these bytes but is longer; or None."""
    lead, length = tail[0], 2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4
    if not 0xC2 <= lead <= 0xF4 or len(tail) >= length or any(byte & 0xC0 != 0x80 for byte in tail[1:]):
        return None
    low = lead & (0x7F >> length)
    for byte in tail[1:]:
        low = low << 6 | byte & 0x3F
    free = 6 * (length - len(tail))
    low, high = low << free, (low + 1 << free) - 1
    low, high = max(low, {2: 0x80, 3: 0x800, 4: 0x10000}[length]), min(high, 0x10FFFF)
    if length == 3 and high >= 0xD800 and low <= 0xDFFF:  # surrogates are no characters
        low, high = (0xE000, high) if low >= 0xD800 else (low, 0xD7FF)
    return (low, high) if low <= high else None


def alive_within(oracle: Any, state: Any, tail: bytes) -> bool:
    """True if some character begins with the tail and keeps the oracle alive."""
    span = beginnings(tail)
    if span is None:
        return False
    return any(oracle.step(state, character) is not None for character in _within(oracle.representatives, [span]))


def read(oracle: Any, text: bytes) -> tuple[Any, bytes]:
    """(state, tail) after a text; the state is None if no member begins so."""
    state, tail = oracle.start(), b""
    for byte in text:
        state, tail = _read_byte(oracle, state, tail, byte)
        if state is None:
            break
    return state, tail


def _read_byte(oracle: Any, state: Any, tail: bytes, byte: int) -> tuple[Any, bytes]:
    tail += bytes((byte,))
    try:
        character = tail.decode()
    except UnicodeDecodeError:
        return (state, tail) if alive_within(oracle, state, tail) else (None, b"")
    return oracle.step(state, character), b""


def naive_mask(trie: Trie, oracle: Any, text: bytes, eos_ids: Sequence[int]) -> set[int]:
    """The ids allowed after a text: tokens that keep the oracle alive, and the end-of-text ids iff it accepts."""
    state, tail = read(oracle, text)
    allowed: set[int] = set()
    if state is None:
        return allowed
    if not tail and oracle.accepts(state):
        allowed.update(eos_ids)
    stack = [(trie, state, tail)]
    while stack:
        node, state, tail = stack.pop()
        for byte, child in node.items():
            if byte is None:
                continue
            following, rest = _read_byte(oracle, state, tail, byte)
            if following is not None:
                allowed.update(child.get(None, ()))
                stack.append((child, following, rest))
    return allowed
