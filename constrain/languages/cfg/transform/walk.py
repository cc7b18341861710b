"""Graph searches over lazy grammars: all rules, or as many as a limit allows.

The idea: `Nonterminal.expansion` keeps the alternatives that `expand` returned, for all searches. (The engine keeps
records of its own.) Cost: what is visited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence
from functools import cached_property
from typing import NamedTuple

from constrain.languages.automata.shape import nullable
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import on_cycles
from constrain.limits import tick

Alternatives = Sequence[Sequence[Symbol]]


class Numbered(NamedTuple):
    """Rules by numbers in place of symbols. PERF: a nonterminal hashes its key at each look-up.

    Attributes:
        symbols: The symbols by number: first the nonterminals that have rules, then all others.
        ways: The alternatives of the first ones by number, each a list of numbers.
    """

    symbols: list[Symbol]
    ways: list[list[list[int]]]


class RuleTable(dict[Nonterminal, Alternatives]):
    """Nonterminals with their alternatives."""

    @cached_property
    def numbered(self) -> Numbered:
        """The rules by numbers, in the order of the table."""
        number: dict[Symbol, int] = {nonterminal: i for i, nonterminal in enumerate(self)}
        ways = [[[number.setdefault(s, len(number)) for s in each] for each in found] for found in self.values()]
        return Numbered(list(number), ways)


def alternatives_of(nonterminal: Nonterminal) -> Alternatives:
    """The alternatives of a nonterminal, expanded at the first call."""
    if nonterminal.expansion is None:
        nonterminal.expansion = nonterminal.expand()
    return nonterminal.expansion


def reachable(start: Nonterminal, limit: int) -> RuleTable | None:
    """Every nonterminal reachable from the start, with its alternatives; None if there are more than `limit`."""
    table = RuleTable()
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


def plainest_of(nonterminal: Nonterminal) -> Alternatives:
    """The alternatives of a nonterminal; where a text chooses its layout, in the one with the fewest separators."""
    found = nonterminal.plainest()
    return alternatives_of(nonterminal) if found is None else [[found.nonterminal]]


def nearest(
    start: Symbol,
    limit: int,
    without: Container[Symbol] = (),
    *,
    deep: bool = False,
    expand: Callable[[Nonterminal], Alternatives] = alternatives_of,
) -> tuple[RuleTable, bool]:
    """The `limit` nonterminals nearest to the start, with their alternatives; and whether these are all of them.

    without: symbols that are left out, with all that only they lead to. deep: depth first instead, the first
    alternative before the others. expand: gives the alternatives.
    """
    table = RuleTable()
    queue = deque([start])
    while queue:
        tick()
        symbol = queue.pop() if deep else queue.popleft()
        if isinstance(symbol, Terminal) or symbol in table or symbol in without:
            continue
        if len(table) == limit:
            return table, False
        table[symbol] = expand(symbol)
        found = [symbol for alternative in table[symbol] for symbol in alternative]
        queue.extend(reversed(found) if deep else found)
    return table, True


def without_unproductive(start: Nonterminal, limit: int) -> Nonterminal | None:
    """An equal start symbol of rules that all derive some text; None if there are more than `limit`, or it has no text.

    All of the rules are expanded.
    """
    table = reachable(start, limit)
    if table is None:
        return None
    users: dict[Nonterminal, list[Nonterminal]] = {}
    for nonterminal, alternatives in table.items():
        for symbol in {symbol for alternative in alternatives for symbol in alternative}:
            if isinstance(symbol, Nonterminal):
                users.setdefault(symbol, []).append(nonterminal)
    fine: set[Symbol] = set()

    def derives(alternative: Sequence[Symbol]) -> bool:
        return all(isinstance(symbol, Terminal) or symbol in fine for symbol in alternative)

    pending = list(table)
    while pending:
        nonterminal = pending.pop()
        if nonterminal not in fine and any(map(derives, table[nonterminal])):
            fine.add(nonterminal)
            pending += users.get(nonterminal, ())
    if start not in fine:
        return None

    def made(old: Symbol) -> Symbol:
        if isinstance(old, Terminal):
            return old
        key = None if old.key is None else ("productive", old.key)
        if old not in new:
            new[old] = Nonterminal(old.name, lambda: expanded(old), key, old.right_recursive, old.watched)
        return new[old]

    def expanded(old: Nonterminal) -> list[list[Symbol]]:
        return [[made(symbol) for symbol in each] for each in table[old] if derives(each)]

    new: dict[Nonterminal, Nonterminal] = {}
    whole = made(start)
    assert isinstance(whole, Nonterminal)
    return whole


def nullable_nonterminals(table: dict[Nonterminal, Alternatives]) -> set[Nonterminal]:
    """The nonterminals that derive the empty text. Linear in the size of the table."""
    waiting: dict[Nonterminal, list[tuple[Nonterminal, int]]] = {}  # symbol -> alternatives that have it
    missing: dict[tuple[Nonterminal, int], int] = {}  # alternative -> its symbols that are not known to be nullable
    pending: list[Nonterminal] = []
    for nonterminal, alternatives in table.items():
        for i, alternative in enumerate(alternatives):
            if any(isinstance(symbol, Terminal) and not nullable(symbol.node) for symbol in alternative):
                continue
            members = {symbol for symbol in alternative if isinstance(symbol, Nonterminal)}
            missing[nonterminal, i] = len(members)
            for symbol in members:
                waiting.setdefault(symbol, []).append((nonterminal, i))
            if not members:
                pending.append(nonterminal)
    nullables: set[Nonterminal] = set()
    while pending:
        nonterminal = pending.pop()
        if nonterminal not in nullables:
            nullables.add(nonterminal)
            for user, i in waiting.get(nonterminal, ()):
                missing[user, i] -= 1
                if not missing[user, i]:
                    pending.append(user)
    return nullables


def is_nullable(symbol: Symbol, nullables: set[Nonterminal]) -> bool:
    """True if the symbol derives the empty text, given the nullable nonterminals."""
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
