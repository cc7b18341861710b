"""Graph searches over lazy grammars: all rules, or as many as a limit allows.

The idea: `Nonterminal.expansion` keeps the alternatives that `expand` returned, for all searches. (The engine keeps
records of its own.) Cost: what is visited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence

from constrain.automata.shape import nullable
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.cfg.transform.analysis import on_cycles

Alternatives = Sequence[Sequence[Symbol]]


def alternatives_of(nonterminal: Nonterminal) -> Alternatives:
    """The alternatives of a nonterminal, expanded at the first call."""
    if nonterminal.expansion is None:
        nonterminal.expansion = nonterminal.expand()
    return nonterminal.expansion


def reachable(start: Nonterminal, limit: int) -> dict[Nonterminal, Alternatives] | None:
    """Every nonterminal reachable from the start, with its alternatives; None if there are more than `limit`."""
    table: dict[Nonterminal, Alternatives] = {}
    stack = [start]
    while stack:
        nonterminal = stack.pop()
        if nonterminal in table:
            continue
        if len(table) == limit:
            return None
        table[nonterminal] = alternatives_of(nonterminal)
        stack += [s for alternative in table[nonterminal] for s in alternative if isinstance(s, Nonterminal)]
    return table


def nearest(start: Symbol, limit: int, but: Container[Symbol] = ()) -> tuple[dict[Nonterminal, Alternatives], bool]:
    """The `limit` nonterminals nearest to the start, with their alternatives; and whether these are all of them.

    but: nonterminals that are left out, with all that only they lead to.
    """
    table: dict[Nonterminal, Alternatives] = {}
    queue = deque([start])
    while queue:
        symbol = queue.popleft()
        if isinstance(symbol, Terminal) or symbol in table or symbol in but:
            continue
        if len(table) == limit:
            return table, False
        table[symbol] = alternatives_of(symbol)
        queue.extend(symbol for alternative in table[symbol] for symbol in alternative)
    return table, True


def nullable_nonterminals(table: dict[Nonterminal, Alternatives]) -> set[Nonterminal]:
    """The nonterminals that derive the empty text."""
    nullables: set[Nonterminal] = set()
    users: dict[Nonterminal, list[Nonterminal]] = {}
    for nonterminal, alternatives in table.items():
        for alternative in alternatives:
            for symbol in alternative:
                if isinstance(symbol, Nonterminal):
                    users.setdefault(symbol, []).append(nonterminal)
    pending = list(table)
    while pending:
        nonterminal = pending.pop()
        if nonterminal not in nullables and any(all(is_nullable(s, nullables) for s in a) for a in table[nonterminal]):
            nullables.add(nonterminal)
            pending += users.get(nonterminal, ())
    return nullables


def is_nullable(symbol: Symbol, nullables: set[Nonterminal]) -> bool:
    """Whether the symbol derives the empty text, given the nullable nonterminals."""
    return nullable(symbol.node) if isinstance(symbol, Terminal) else symbol in nullables


def left_recursive(table: dict[Nonterminal, Alternatives]) -> set[Nonterminal]:
    """The nonterminals that lead back to themselves through first symbols; leading nullable symbols are skipped."""
    empty = nullable_nonterminals(table)
    number = {nonterminal: str(i) for i, nonterminal in enumerate(table)}
    edges: dict[str, list[str]] = {}
    for nonterminal, alternatives in table.items():
        edges[number[nonterminal]] = heads = []
        for alternative in alternatives:
            for symbol in alternative:
                heads += [number[symbol]] if isinstance(symbol, Nonterminal) else []
                if not is_nullable(symbol, empty):
                    break
    cyclic = on_cycles(edges)
    return {nonterminal for nonterminal, name in number.items() if name in cyclic}
