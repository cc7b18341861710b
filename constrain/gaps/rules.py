"""A grammar as tables of rules with at most two symbols, for the kernels of gaps.

The idea (Lange and Leiß, Informatica Didactica 8, 2009): an alternative X Y Z becomes
A -> X [Y Z], and [Y Z] -> Y Z is shared by all alternatives that end so. Rules of one symbol and of none are kept: the
tables grow linearly with the grammar, and need no closure over unit rules.

Limit: LimitError for a grammar with more than `MOST_SYMBOLS` reachable nonterminals, such as one that counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.gaps.kernels.records import RULE, RULES
from constrain.kernels.records.schema import pack
from constrain.languages.automata.quotient import spelled
from constrain.languages.automata.shape import nullable
from constrain.languages.automata.syntax import Node, alternate, difference
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.walk import reachable
from constrain.limits import tick

MOST_SYMBOLS = 20_000
Int32 = NDArray[np.int32]


def language_of(terminal: Terminal) -> Node:
    """The texts of a terminal, without the texts that it excludes."""
    if not terminal.excluding:
        return terminal.node
    return difference(spelled(terminal.node), alternate(*(spelled(other.node) for other in terminal.excluding)))


class Lists:
    """Lists of numbers by number: those of i are `items[first[i] : first[i + 1]]`; int32 both."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self.first: Int32 = np.cumsum([0, *map(len, lists)]).astype(np.int32)
        self.items: Int32 = np.array([item for each in lists for item in each], np.int32)


class BinaryRules:
    """The rules of a grammar, numbered. Symbols are numbers: first the terminals' languages, then nonterminals.

    Args:
        grammar: For `lexer="dynamic"`, without ignored terminals and without a layout.

    Attributes:
        languages: The languages of terminals; terminals with equal languages are one symbol.
        nullable: The symbols with an empty derivation of their own: languages with the empty text, and nonterminals
            with an empty alternative.
        names: The name of each symbol, for messages.
        originals: The symbol of the grammar that each symbol stands for; a tuple for the rest of an alternative.
        start: The number of the start symbol.
        parent, left, right: int32[rules]; right is -1 in rules of one symbol.
        by_parent: The rules by their parents.
        table: The rules as kernels take them: RULES, int32[n].

    Raises:
        LimitError: The grammar has too many nonterminals.
    """

    def __init__(self, grammar: Grammar) -> None:
        table = reachable(grammar.start, MOST_SYMBOLS)
        if table is None:
            raise LimitError(
                f"a text with gaps needs a grammar of at most {MOST_SYMBOLS:,} rules; this one makes more",
                fix="use a grammar without a layout or large counters, or leave one gap only",
            )
        self._numbers: dict[object, int] = {}
        self.languages: list[Node] = []
        self.names: list[str] = []
        self.originals: list[object] = []
        for alternatives in table.values():
            for alternative in alternatives:
                for symbol in alternative:
                    if isinstance(symbol, Terminal):
                        self._terminal(symbol)
        self.nullable = [i for i, node in enumerate(self.languages) if nullable(node)]
        rules: list[tuple[int, int, int]] = []
        for nonterminal, alternatives in table.items():
            tick()
            parent = self._number(nonterminal, nonterminal, nonterminal.name)
            for alternative in alternatives:
                self._alternative(parent, tuple(alternative), rules)
        self.start = self._numbers[grammar.start]
        self._index(list(dict.fromkeys(rules)))

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.names)

    def _number(self, key: object, original: object, name: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.names)
            self.names.append(name)
            self.originals.append(original)
        return self._numbers[key]

    def _terminal(self, terminal: Terminal) -> None:
        node = language_of(terminal)
        if node not in self._numbers:
            self._number(node, terminal, terminal.name)
            self.languages.append(node)

    def _alternative(self, parent: int, symbols: tuple[Symbol, ...], rules: list[tuple[int, int, int]]) -> None:
        """Add the rules of parent -> symbols, and those of the rests that are new."""
        while symbols:
            first = self._symbol_number(symbols[0])
            if len(symbols) == 1:
                rules.append((parent, first, -1))
                return
            if len(symbols) == 2:
                rules.append((parent, first, self._symbol_number(symbols[1])))
                return
            rest = symbols[1:]
            is_new = rest not in self._numbers
            number = self._number(rest, rest, f"rest with {rest[0].name}")
            rules.append((parent, first, number))
            if not is_new:
                return
            parent, symbols = number, rest
        self.nullable.append(parent)

    def _symbol_number(self, symbol: Symbol) -> int:
        if isinstance(symbol, Nonterminal):
            return self._number(symbol, symbol, symbol.name)
        return self._numbers[language_of(symbol)]

    def _index(self, rules: list[tuple[int, int, int]]) -> None:
        self.parent, self.left, self.right = (np.array([rule[i] for rule in rules], np.int32) for i in range(3))
        lists: list[list[list[int]]] = [[[] for _ in range(self.size)] for _ in range(4)]
        for number, (parent, left, right) in enumerate(rules):
            lists[3][parent].append(number)
            if right < 0:
                lists[2][left].append(number)
            else:
                lists[0][left].append(number)
                lists[1][right].append(number)
        self.by_parent = Lists(lists[3])
        self._pack([Lists(each) for each in lists])

    def _pack(self, lists: list[Lists]) -> None:
        """Write `table`. lists: the rules by left, right, only symbol, and parent."""
        rows = np.column_stack((self.parent, self.left, self.right, np.arange(len(self.parent))))
        first, begin = [], 0
        for each in lists:
            first.append((begin + each.first) * RULE.WORDS)
            begin += len(each.items)
        order = np.concatenate([each.items for each in lists])
        self.table, columns = pack(
            RULES, SYMBOLS=self.size, TERMINALS=len(self.languages), N_EMPTIES=len(self.nullable),
            EMPTIES=np.array(self.nullable, np.int32), BY_LEFT=first[0], BY_RIGHT=first[1], BY_UNIT=first[2],
            BY_PARENT=first[3], ROWS=rows[order].reshape(-1),
        )  # fmt: skip
        for name in ("BY_LEFT", "BY_RIGHT", "BY_UNIT", "BY_PARENT"):
            columns[name] += self.table[RULES.ROWS]
