"""Going over grammars as they are: rules that are made when they are first reached, all or as many as a limit allows.

The idea: `Nonterminal.expansion` keeps what `expand` gave, for everybody who looks here. (The engine keeps records
of its own.) Cost: what is visited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from constrain.automata.shape import nullable
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.cfg.transform.analysis import on_cycles

Alternatives = Sequence[Sequence[Symbol]]


def alternatives_of(nonterminal: Nonterminal) -> Alternatives:
    """The alternatives, made at the first call."""
    if nonterminal.expansion is None:
        nonterminal.expansion = nonterminal.expand()
    return nonterminal.expansion


def reachable(start: Nonterminal, limit: int) -> dict[Nonterminal, Alternatives] | None:
    """Every nonterminal that the start leads to, with its alternatives; None if there are more than `limit`."""
    found: dict[Nonterminal, Alternatives] = {}
    stack = [start]
    while stack:
        nonterminal = stack.pop()
        if nonterminal in found:
            continue
        if len(found) == limit:
            return None
        found[nonterminal] = alternatives_of(nonterminal)
        stack += [s for alternative in found[nonterminal] for s in alternative if isinstance(s, Nonterminal)]
    return found


def nearest(start: Symbol, limit: int) -> tuple[dict[Nonterminal, Alternatives], bool]:
    """(the nonterminals that are fewest steps from the start, with their alternatives; are these all?)."""
    found: dict[Nonterminal, Alternatives] = {}
    queue = deque([start])
    while queue:
        symbol = queue.popleft()
        if isinstance(symbol, Terminal) or symbol in found:
            continue
        if len(found) == limit:
            return found, False
        found[symbol] = alternatives_of(symbol)
        queue.extend(each for alternative in found[symbol] for each in alternative)
    return found, True


def nullable_nonterminals(table: dict[Nonterminal, Alternatives]) -> set[Nonterminal]:
    """Those that derive the empty text."""
    found: set[Nonterminal] = set()
    users: dict[Nonterminal, list[Nonterminal]] = {}
    for nonterminal, alternatives in table.items():
        for alternative in alternatives:
            for symbol in alternative:
                if isinstance(symbol, Nonterminal):
                    users.setdefault(symbol, []).append(nonterminal)
    pending = list(table)
    while pending:
        nonterminal = pending.pop()
        if nonterminal not in found and any(all(is_nullable(s, found) for s in a) for a in table[nonterminal]):
            found.add(nonterminal)
            pending += users.get(nonterminal, ())
    return found


def is_nullable(symbol: Symbol, nonterminals: set[Nonterminal]) -> bool:
    """Does the symbol derive the empty text, given the nonterminals that do?"""
    return nullable(symbol.node) if isinstance(symbol, Terminal) else symbol in nonterminals


def left_recursive(table: dict[Nonterminal, Alternatives]) -> set[Nonterminal]:
    """The nonterminals that lead back to themselves through first symbols, nullable ones skipped."""
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
