"""The terminals that may stand next to each other in texts of a grammar.

    adjacency.follow[t]     the terminals that may stand directly behind a lexeme of terminal t
    adjacency.before[A]     the ones that may stand directly before a text of symbol A; one bit more: it may be first

The idea: the sets FIRST, LAST and FOLLOW of textbooks, as bits of integers. Lexemes are then cut, and items are made,
only where the neighbour on the left can be one.

Cost: a few passes over the rules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.rules import BinaryRules


class Adjacency:
    """Neighbours of terminals and symbols.

    Attributes:
        follow: For each terminal, the ones that may follow it, as bits.
        before: For each symbol, the terminals that may stand before it, as bits.
        before_rows: `before` as rows of uint32.
    """

    def __init__(self, rules: BinaryRules) -> None:
        terminals, size = len(rules.languages), rules.size
        table = list(zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True))
        empty = [False] * size
        for symbol in rules.nullable:
            empty[symbol] = True
        first = [1 << symbol if symbol < terminals else 0 for symbol in range(size)]
        last = list(first)
        changed = True
        while changed:
            changed = False
            for parent, left, right in table:
                begins, ends, is_empty = first[left], last[left], empty[left]
                if right >= 0:
                    begins |= first[right] if is_empty else 0
                    ends = last[right] | (ends if empty[right] else 0)
                    is_empty = is_empty and empty[right]
                new = first[parent] | begins, last[parent] | ends, empty[parent] or is_empty
                if new != (first[parent], last[parent], empty[parent]):
                    first[parent], last[parent], empty[parent] = new
                    changed = True
        self.follow = [0] * terminals
        self.before = [0] * size
        self.before[rules.start] = 1 << terminals
        for _, left, right in table:
            if right >= 0:
                for terminal in ones(last[left]):
                    self.follow[terminal] |= first[right]
        self._pass_down(table, last, empty)
        self.before_rows = _rows(self.before, terminals + 1)

    def _pass_down(self, table: list[tuple[int, int, int]], last: list[int], empty: list[bool]) -> None:
        before, changed = self.before, True
        while changed:
            changed = False
            for parent, left, right in table:
                new = before[left] | before[parent]
                if new != before[left]:
                    before[left], changed = new, True
                if right >= 0:
                    new = before[right] | last[left] | (before[parent] if empty[left] else 0)
                    if new != before[right]:
                        before[right], changed = new, True


def ones(bits: int) -> list[int]:
    """The numbers of the bits that are 1."""
    found = []
    while bits:
        found.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return found


def _rows(sets: list[int], size: int) -> NDArray[np.uint32]:
    width = (size + 31) // 32
    content = b"".join(each.to_bytes(4 * width, "little") for each in sets)
    return np.frombuffer(content, "<u4").reshape(len(sets), width).astype(np.uint32)
