"""Patterns: automata of texts with gaps, built from left to right.

    pattern = Pattern(lexer)
    pattern.text(b"[1, ")           # fixed bytes
    pattern.anything()              # any bytes
    pattern.tokens(layer, 2, 5)     # between two and five tokens
    pattern.text(b"]")

There are no empty arcs: what comes next begins at every node of `frontier`. Arcs lead to later nodes, or back to the
same one (a gap of any bytes). A layer of tokens is the minimal acyclic
automaton of their class words (`Layer.merged`): it grows with what the terminals tell apart, not with the vocabulary.
Where the tokens of one position are asked for, its layer is a trie instead (`Layer.trie`): each class word has an arc
of its own at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.lexer import LexerTable

Word = tuple[int, ...]  # classes of bytes
ROOT = 0


@dataclass
class Layer:
    """An acyclic automaton of class words. Node 0 is the root.

    Attributes:
        arcs: (node, class, node that goes on or -1, word that ends with this arc or -1, 0 if many end).
        nodes: The number of nodes.
    """

    arcs: list[tuple[int, int, int, int]]
    nodes: int

    @classmethod
    def trie(cls, words: Iterable[Word]) -> Layer:
        """One node for each prefix: an arc that ends a word ends it alone; words are numbered in their order."""
        tables: list[dict[int, int]] = [{}]
        ends: dict[int, int] = {}
        for number, word in enumerate(words):
            node = ROOT
            for c in word:
                if c not in tables[node]:
                    tables[node][c] = len(tables)
                    tables.append({})
                node = tables[node][c]
            ends[node] = number
        arcs = [
            (node, c, after if tables[after] else -1, ends.get(after, -1))
            for node, table in enumerate(tables)
            for c, after in table.items()
        ]
        return cls(arcs, len(tables))

    @classmethod
    def merged(cls, words: Iterable[Word]) -> Layer:
        """Merge equal nodes; the words stay (Daciuk et al., "Incremental construction", 2000, has the idea)."""
        trie = cls.trie(sorted(set(words)))
        below: list[list[tuple[int, int, bool]]] = [[] for _ in range(trie.nodes)]
        for node, c, after, word in trie.arcs:
            below[node].append((c, after, word >= 0))
        same: dict[tuple[tuple[int, int, bool], ...], int] = {}
        name = [0] * trie.nodes
        for node in range(trie.nodes - 1, 0, -1):  # children have larger numbers
            if below[node]:
                shape = tuple(sorted((c, -1 if after < 0 else name[after], ends) for c, after, ends in below[node]))
                name[node] = same.setdefault(shape, len(same) + 1)
        arcs = [(ROOT, c, -1 if after < 0 else name[after], ends) for c, after, ends in below[ROOT]]
        arcs += [(number, *each) for shape, number in reversed(same.items()) for each in shape]
        return cls([(node, c, after, 0 if ends else -1) for node, c, after, ends in arcs], len(same) + 1)


@dataclass
class Pattern:
    """An automaton of class words, built from left to right.

    Attributes:
        lexer: Gives the classes.
        arcs: (from, class, to, weight).
        nodes: The number of nodes; 0 is the first.
        frontier: The nodes at which what comes next begins; at the end, those where a text may end.
        bytes_of: The byte of an arc, for arcs of fixed text.
    """

    lexer: LexerTable
    arcs: list[tuple[int, int, int, int]] = field(default_factory=list)
    nodes: int = 1
    frontier: list[int] = field(default_factory=lambda: [0])
    bytes_of: dict[int, int] = field(default_factory=dict)

    def node(self) -> int:
        """A new node."""
        self.nodes += 1
        return self.nodes - 1

    def text(self, text: bytes) -> list[int]:
        """Append fixed bytes. Returns the node before each byte and the one after the last; -1: several nodes."""
        passed = [self.frontier[0] if len(self.frontier) == 1 else -1]
        for byte in text:
            after = self.node()
            for node in self.frontier:
                self.bytes_of[len(self.arcs)] = byte
                self.arcs.append((node, int(self.lexer.classes[byte]), after, 0))
            self.frontier = [after]
            passed.append(after)
        return passed

    def perhaps(self, text: bytes) -> None:
        """Append fixed bytes, or nothing."""
        without = list(self.frontier)
        self.text(text)
        self.frontier = list(dict.fromkeys([*without, *self.frontier]))

    def anything(self, weight: int = 1) -> int:
        """Append any bytes, each with a weight. Returns the node where they are."""
        if len(self.frontier) == 1:
            [free] = self.frontier
        else:
            free = self.node()
            self.arcs += [(node, c, free, weight) for node in self.frontier for c in range(self.lexer.n_classes)]
            self.frontier = [*self.frontier, free]
        self.arcs += [(free, c, free, weight) for c in range(self.lexer.n_classes)]
        return free

    def tokens(self, layer: Layer, least: int, most: int) -> None:
        """Append between `least` and `most` tokens of a layer."""
        after = list(self.frontier) if least == 0 else []
        for number in range(1, most + 1):
            self.token(layer)
            if number >= least:
                after += self.frontier
        self.frontier = after

    def token(self, layer: Layer, weights: dict[int, int] | None = None) -> dict[int, list[int]]:
        """Append one token. Returns, for each word of the layer, the arcs that end it."""
        inner = {ROOT: -1}
        for node, *_ in layer.arcs:
            if node != ROOT:
                self._inner(inner, node)
        root = self.node()  # behind all of them: no arc leads back
        ends: dict[int, list[int]] = {}
        for node, c, further, word in layer.arcs:
            for start in self.frontier if node == ROOT else [self._inner(inner, node)]:
                if further >= 0:
                    self.arcs.append((start, c, self._inner(inner, further), 0))
                if word >= 0:
                    ends.setdefault(word, []).append(len(self.arcs))
                    self.arcs.append((start, c, root, 0 if weights is None else weights[word]))
        self.frontier = [root]
        return ends

    def _inner(self, inner: dict[int, int], node: int) -> int:
        if node not in inner:
            inner[node] = self.node()
        return inner[node]

    def table(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """(first, classes, targets, weights, number of the arc in `arcs`), the arcs sorted by their first node."""
        arcs = np.array(self.arcs, np.int32).reshape(-1, 4)
        order = np.argsort(arcs[:, 0], kind="stable")
        first = np.searchsorted(arcs[order, 0], np.arange(self.nodes + 1)).astype(np.int32)
        by, to, weights = (np.ascontiguousarray(arcs[order, i]) for i in (1, 2, 3))
        return first, by, to, weights, order
