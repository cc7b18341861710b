"""The derivations of a grammar that fit a pattern: emptiness, live arcs, a shortest text.

    language = GapLanguage(grammar)
    solution = language.solve(pattern)
    solution.is_empty, solution.live_arcs(), solution.shortest()

The idea: lexemes between the nodes of the pattern (gaps/kernels/lexemes.py), then derivations between them from the
bottom up, then those of whole texts from the top down (derivations.py). What is left is exactly what some filling uses.
Only nodes where a lexeme may end become positions, so rows of bits are short although patterns are long.

Cost: rules x positions^3 / 32 at worst. Limit: LimitError beyond `MOST_BYTES` of rows (chart.py).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.errors import GrammarError
from constrain.gaps.adjacency import Adjacency
from constrain.gaps.chart import MOST_BYTES, GapChart, Rows, too_large
from constrain.gaps.cheapest import CheapestDerivation
from constrain.gaps.folding import fold_ignored
from constrain.gaps.kernels import lexemes
from constrain.gaps.kernels.lexemes import ACCEPTING, FRESH, NOWHERE
from constrain.gaps.kernels.records import ARC, PAIRS, PATTERN
from constrain.gaps.lexer import LexerTable
from constrain.gaps.pattern import Pattern
from constrain.gaps.rules import BinaryRules
from constrain.kernels.records.schema import pack
from constrain.languages.automata.decide import shared_store
from constrain.languages.cfg.rules import Grammar

Int32 = NDArray[np.int32]


class GapLanguage:
    """A grammar as the tables that gaps need. Immutable: patterns of many texts share it.

    Args:
        grammar: Read with the dynamic lexer.

    Raises:
        GrammarError: The grammar has a layout whose columns are not given.
        LimitError: The grammar or its terminals are too large.

    Attributes:
        closing: At most one byte, which a text need not have at its end.
    """

    def __init__(self, grammar: Grammar) -> None:
        if grammar.lexer == "greedy":
            raise GrammarError(
                "a grammar with a layout of lines and columns has gaps only where its columns are known",
                fix="give the layout its columns: Layout(columns=(0, 4, 8))",
            )
        self.grammar = fold_ignored(Grammar(grammar.start, grammar.ignore))
        self.closing = grammar.closing
        self.rules = BinaryRules(self.grammar)
        self.adjacency = Adjacency(self.rules)
        self.lexer = LexerTable(self.rules.languages)
        shared_store()
        kernels.load()

    def pattern(self) -> Pattern:
        """A new, empty pattern."""
        return Pattern(self.lexer)

    def solve(self, pattern: Pattern) -> Solution:
        """Find what fits a pattern. Raises LimitError."""
        return Solution(self, pattern)


class Solution:
    """The derivations that fit a pattern.

    Attributes:
        positions: The nodes that are positions, in the order of their numbers.
        place: int32[nodes], the number of a node's position; -1: no lexeme of a fitting text ends there.
        begun: For each pair, the positions where its lexeme began.
        chart: The items between positions.
    """

    def __init__(self, language: GapLanguage, pattern: Pattern) -> None:
        self.language, self.rules, self.lexer, self.pattern = language, language.rules, language.lexer, pattern
        self.first, self.by, self.to, self.weights, self.order = pattern.table()
        self._pairs()
        self._fill_chart()

    def _pairs(self) -> None:
        lexer, nodes = self.lexer, self.pattern.nodes
        cells = len(lexer.kinds) * nodes
        if cells * 12 > MOST_BYTES:
            raise too_large(f"{len(lexer.kinds):,} states of terminals and {nodes:,} places in the text")
        ends = np.zeros(nodes, np.int32)
        ends[self.pattern.frontier] = 1
        arcs = np.column_stack((self.by, self.to, self.weights)).reshape(-1)
        self.table, columns = pack(
            PATTERN, NODES=nodes, CLASSES=lexer.n_classes, N_STARTS=len(lexer.starts), FIRST=self.first * ARC.WORDS,
            ARCS=arcs, END=ends, MOVES=lexer.moves, KIND=lexer.kinds, OWNER=lexer.owners, START=lexer.starts,
        )  # fmt: skip
        columns["FIRST"] += self.table[PATTERN.ARCS]
        seen, order = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
        boundary = np.zeros(nodes, np.int32)
        count = lexemes.reach(self.table, seen, order, boundary, 0)
        order = order[:count]
        order = np.ascontiguousarray(order[np.lexsort((order // nodes, order % nodes))])  # by nodes
        lexemes.retain(self.table, seen, order, boundary, count)
        self._number(order[seen[order] == 2], np.flatnonzero(boundary == 2))

    def _number(self, pairs: Int32, positions: NDArray[np.int64]) -> None:
        """Number pairs, given as state * nodes + node, and positions."""
        nodes = self.pattern.nodes
        self.positions = positions
        self.pairs, columns = pack(
            PAIRS, COUNT=len(pairs), POSITIONS=len(positions), STATE=pairs // nodes, NODE=pairs % nodes,
            POSITION=np.full(nodes, -1), NUMBER=np.broadcast_to(-1, len(self.lexer.kinds) * nodes),
        )  # fmt: skip
        self.pair_s, self.pair_q, self.place = columns["STATE"], columns["NODE"], columns["POSITION"]
        self.number = columns["NUMBER"]
        self.number[pairs] = np.arange(len(pairs))
        self.place[positions] = np.arange(len(positions))

    def _fill_chart(self) -> None:
        self.chart = GapChart(self.language, len(self.positions))
        self.begun = np.zeros((len(self.pair_s), self.chart.width), np.uint32)
        if len(self.pair_s) and len(self.positions):
            lexemes.spread(self.table, self.pairs, self.begun, self.chart.R)
        self.chart.complete()

    def has(self, symbol: int, begin: int, end: int) -> bool:
        """True if a symbol derives a text that leads from one position to another. begin, end: positions."""
        return self.chart.has(symbol, begin, end)

    @cached_property
    def tops(self) -> list[int]:
        """The positions where a whole text may end."""
        if self.place[0] < 0:
            return []
        ends = [int(self.place[node]) for node in self.pattern.frontier if self.place[node] >= 0]
        return [end for end in dict.fromkeys(ends) if self.has(self.rules.start, int(self.place[0]), end)]

    @property
    def is_empty(self) -> bool:
        """True if no text of the grammar fits the pattern."""
        return not self.tops

    @cached_property
    def live(self) -> Rows:
        """The items that are part of a derivation of a whole text; rows as in the chart."""
        return self.chart.live(self.tops)

    def live_arcs(self) -> NDArray[np.bool_]:
        """bool[arcs of the pattern]: whether some whole text uses the arc."""
        arcs = np.zeros(len(self.by), np.int32)
        if not self.is_empty and len(self.pair_s):
            useful = np.zeros_like(self.begun)
            lexemes.recede(self.table, self.pairs, self.begun, useful, self.live, arcs)
        live = np.zeros(len(arcs), np.bool_)
        live[self.order] = arcs == 1
        return live

    def shortest(self) -> list[int] | None:
        """The arcs of a fitting text with the least sum of weights, in their order; None if there is no text."""
        return None if self.is_empty else _Shortest(self).arcs()


class _Shortest:
    """A cheapest derivation of a solution."""

    def __init__(self, solution: Solution) -> None:
        self.of = solution
        self.n = len(solution.positions)
        self.derivation = CheapestDerivation(solution.rules, solution.live, self.n)
        self._price_lexemes()
        self.derivation.settle()

    def _least(self, pair: int) -> Int32:
        """The least weight from a fresh pair to each pair."""
        of = self.of
        found = np.full(len(of.pair_s), NOWHERE, np.int32)
        queue = np.zeros(2 * len(of.pair_s), np.int32)
        lexemes.cheapest(of.table, of.pairs, found, queue, pair)
        return found

    def _price_lexemes(self) -> None:
        of, kinds, cost = self.of, self.of.lexer.kinds[self.of.pair_s], self.derivation.cost
        accepting = np.flatnonzero((kinds == ACCEPTING) & (of.place[of.pair_q] >= 0))
        for pair in np.flatnonzero((kinds == FRESH) & (of.place[of.pair_q] >= 0)).tolist():
            terminal, begin = int(of.lexer.owners[of.pair_s[pair]]), int(of.place[of.pair_q[pair]])
            if not of.live[terminal * self.n + begin].any():
                continue
            found = self._least(pair)
            for last in accepting[found[accepting] < NOWHERE].tolist():
                if of.lexer.owners[of.pair_s[last]] == terminal:
                    item = self.derivation.item(terminal, begin, int(of.place[of.pair_q[last]]))
                    if item >= 0:
                        cost[item] = min(cost[item], found[last])

    def arcs(self) -> list[int]:
        """The arcs of the pattern along a cheapest text."""
        of, derivation = self.of, self.derivation
        tops = [derivation.item(of.rules.start, int(of.place[0]), end) for end in of.tops]
        best = min(tops, key=lambda item: int(derivation.cost[item]))
        path = [arc for lexeme in derivation.under(best) for arc in self._lexeme(*lexeme)]
        return [int(of.order[arc]) for arc in path]

    def _lexeme(self, terminal: int, begin: int, end: int) -> list[int]:
        """The arcs of a cheapest text of a terminal between two positions, numbered as in `Solution.by`."""
        of, lexer, nodes = self.of, self.of.lexer, self.of.pattern.nodes
        start = int(of.number[int(lexer.starts[terminal]) * nodes + int(of.positions[begin])])
        found = self._least(start)
        node = int(of.positions[end])
        at = [
            pair
            for pair in np.flatnonzero(of.pair_q == node).tolist()
            if lexer.kinds[of.pair_s[pair]] == ACCEPTING and lexer.owners[of.pair_s[pair]] == terminal
        ]
        came: dict[int, tuple[int, int]] = {}  # a pair -> (the pair before, the arc); by a search along tight arcs
        queue = [start]
        for pair in queue:  # it grows
            q = int(of.pair_q[pair])
            for a in range(int(of.first[q]), int(of.first[q + 1])):
                after = int(lexer.moves[int(of.pair_s[pair]) * lexer.n_classes + int(of.by[a])])
                j = int(of.number[after * nodes + int(of.to[a])]) if after >= 0 else -1
                if j >= 0 and j not in came and found[j] == found[pair] + of.weights[a]:
                    came[j] = pair, a
                    queue.append(j)
        last = min((pair for pair in at if pair in came), key=lambda pair: int(found[pair]))
        arcs: list[int] = []
        while last != start:
            last, arc = came[last]
            arcs.append(arc)
        return arcs[::-1]
