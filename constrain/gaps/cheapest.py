"""A derivation of least cost among live items, from the costs of its lexemes.

    derivation = CheapestDerivation(rules, live, positions)
    derivation.cost[derivation.lexemes] = ...
    derivation.settle()
    derivation.under(derivation.item(symbol, begin, end))    # the lexemes, from left to right

Costs of lexemes are integers, not negative, and add up (gaps/kernels/least.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from constrain.gaps.chart import Rows
from constrain.gaps.kernels import least
from constrain.gaps.kernels.lexemes import NOWHERE
from constrain.gaps.kernels.records import ITEMS
from constrain.gaps.rules import BinaryRules
from constrain.kernels.records.schema import pack


class PricedLexeme(NamedTuple):
    """A lexeme of a derivation: its terminal, and the positions where it begins and ends."""

    terminal: int
    begin: int
    end: int


class CheapestDerivation:
    """The live items of a grammar with costs.

    Args:
        rules: The grammar.
        live: The live items; rows as in a chart.
        positions: Their number.

    Attributes:
        row, end: Of each item: its row, symbol * positions + where it begins; and where it ends.
        cost: Of each item. Callers write those of lexemes, before `settle`.
    """

    def __init__(self, rules: BinaryRules, live: Rows, positions: int) -> None:
        self.rules, self.live, self.n = rules, live, positions
        rows = rules.size * positions
        offset, nothing = np.zeros(rows, np.int32), np.zeros(0, np.int32)
        count = least.number_items(live, offset, nothing, nothing, rows)
        none, first = np.full(count, -1, np.int32), np.zeros(rows + 1, np.int32)
        self.items, columns = pack(
            ITEMS, COUNT=count, POSITIONS=positions, OFFSET=offset, COLUMN=first, BY_END=none, ROW=none, END=none,
            COST=np.full(count, NOWHERE), RULE=none, MIDDLE=none, HEAP=none, PLACE=none,
        )  # fmt: skip
        self.row, self.end, self.cost = columns["ROW"], columns["END"], columns["COST"]
        self.rule, self.middle = columns["RULE"], columns["MIDDLE"]
        least.number_items(live, offset, self.row, self.end, rows)
        column = self.row - self.row % max(1, positions) + self.end
        columns["COLUMN"][1:] = np.cumsum(np.bincount(column, minlength=rows))
        columns["BY_END"][:] = np.argsort(column, kind="stable")

    @property
    def lexemes(self) -> slice:
        """The items of lexemes: terminals have the first numbers."""
        return slice(0, int(np.searchsorted(self.row, len(self.rules.languages) * self.n)))

    def item(self, symbol: int, begin: int, end: int) -> int:
        """The number of an item; -1 if it is not live."""
        return int(least.item_of(self.live, self.items, symbol * self.n + begin, end))

    def settle(self, tops: Sequence[int] = ()) -> None:
        """Find the costs of all items, or of all that cost no more than the cheapest of some.

        What derives nothing costs nothing.
        """
        is_nullable = np.zeros(self.rules.size, np.bool_)
        is_nullable[list(self.rules.nullable)] = True
        self.cost[is_nullable[self.row // max(1, self.n)] & (self.row % max(1, self.n) == self.end)] = 0
        least.settle(self.live, self.items, self.rules.table, np.array(tops, np.int32))

    def under(self, item: int) -> list[PricedLexeme]:
        """The lexemes of a cheapest derivation of an item, without empty ones."""
        rules, found, stack = self.rules, [], [item]
        while stack:
            item = stack.pop()
            symbol, begin, end = int(self.row[item]) // self.n, int(self.row[item]) % self.n, int(self.end[item])
            if self.rule[item] < 0:
                if symbol < len(rules.languages) and not (begin == end and symbol in rules.nullable):
                    found.append(PricedLexeme(symbol, begin, end))
                continue
            rule, middle = int(self.rule[item]), int(self.middle[item])
            if rules.right[rule] < 0:
                stack.append(self.item(int(rules.left[rule]), begin, end))
            else:
                stack.append(self.item(int(rules.right[rule]), middle, end))
                stack.append(self.item(int(rules.left[rule]), begin, middle))
        return found
