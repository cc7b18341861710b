"""The least text of each symbol of a grammar.

The idea: texts under *shortlex* order (shorter first, then byte by byte), or with the fewest characters first, form a
semiring: the least text of a sequence
is the sequence of least texts. So the least text of a nonterminal is a shortest derivation (Knuth, "A generalization of
Dijkstra's algorithm", 1977).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from constrain.languages.automata import decide
from constrain.languages.automata.least import Order, shortlex
from constrain.languages.automata.quotient import spelled
from constrain.languages.automata.shape import nullable
from constrain.languages.automata.syntax import (
    Alternate,
    Chars,
    Concat,
    JsonString,
    Literals,
    Node,
    Repeat,
    alternate,
    difference,
)
from constrain.languages.cfg.rules import Symbol, Terminal
from constrain.languages.cfg.transform.walk import RuleTable

Text = bytes | None
REPEATED = 1_000  # more copies are read step by step, within the limits


def least_texts(
    table: RuleTable,
    glue: bytes = b"",
    lexeme: Callable[[Terminal], Text] | None = None,
    known: Mapping[Symbol, bytes] | None = None,
    order: Order = shortlex,
) -> dict[Symbol, bytes]:
    """The least text of every symbol of a grammar.

    glue: a text after every lexeme. lexeme: the least text of a terminal; by default `least_lexeme`. known: texts of
    symbols that are not in the table. order: of texts.

    Source: Knuth (1977). Symbols are settled in the order of their texts; an alternative is a candidate when all of its
    symbols are settled.
    """
    symbols, ways = table.numbered
    settled: dict[int, bytes] = {}
    users: list[list[tuple[int, int]]] = [[] for _ in symbols]
    missing: list[list[int]] = [[] for _ in ways]
    heap: list[tuple[tuple[int, int, bytes], int, int]] = []
    serial = 0

    def offer(number: int, text: Text) -> None:
        nonlocal serial
        if text is not None:
            serial += 1
            heapq.heappush(heap, (order(text), serial, number))

    for number, symbol in enumerate(symbols):
        if number >= len(ways) and known is not None and symbol in known:
            offer(number, known[symbol])
        elif isinstance(symbol, Terminal):
            text = least_lexeme(symbol, order) if lexeme is None else lexeme(symbol)
            offer(number, text + glue if text else text)
    for number, alternatives in enumerate(ways):
        for i, way in enumerate(alternatives):
            distinct = set(way)
            missing[number].append(len(distinct))
            for symbol_number in distinct:
                users[symbol_number].append((number, i))
            if not way:
                offer(number, b"")
    while heap:
        (*_, text), _, settling = heapq.heappop(heap)
        if settling in settled:
            continue
        settled[settling] = text
        for number, i in users[settling]:
            missing[number][i] -= 1
            if not missing[number][i] and number not in settled:
                offer(number, b"".join([settled[inner] for inner in ways[number][i]]))
    return {symbols[number]: text for number, text in settled.items()}


@lru_cache(maxsize=1 << 14)
def least_lexeme(terminal: Terminal, order: Order = shortlex) -> Text:
    """The least text of a terminal; None if it has none."""
    node = terminal.node
    if terminal.excluding and not nullable(node):
        node = difference(spelled(node), alternate(*(spelled(other.node) for other in terminal.excluding)))
    return _least_of(node, order)


@lru_cache(maxsize=1 << 14)
def _least_of(node: Node, order: Order) -> Text:
    """The least text of a tree; None if it has none. The order agrees with concatenation, so that of a sequence is the
    sequence of the least ones, and an automaton is asked of what has no such parts."""
    if nullable(node):
        return b""
    if isinstance(node, Literals):
        return _first((text.encode("utf-8", "surrogateescape") for text in node.texts), order)
    if isinstance(node, Chars):
        return chr(node.ranges[0][0]).encode() if node.ranges else None
    if isinstance(node, Alternate):
        return _first((_least_of(part, order) for part in node.args), order)
    if isinstance(node, Concat):
        parts = [_least_of(part, order) for part in node.args]
        return None if None in parts else b"".join(filter(None, parts))
    if isinstance(node, Repeat) and node.low <= REPEATED:
        part = _least_of(node.node, order)
        return None if part is None else part * node.low
    if isinstance(node, JsonString):
        if nullable(node.node):
            return b'""'
        inner = node.node.texts if isinstance(node.node, Literals) else ()
        if len(inner) == 1 and inner[0].isascii() and inner[0].isprintable() and not set(inner[0]) & set('"\\'):
            return b'"%b"' % inner[0].encode()
    text = decide.shortest(node, order)
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _first(texts: Iterable[Text], order: Order) -> Text:
    """The least of some texts."""
    return min((text for text in texts if text is not None), key=order, default=None)
