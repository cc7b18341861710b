"""The configuration after every token of a vocabulary, computed for all tokens at once, level by level of the trie.

    TrieLevelWalk(automaton, vocabulary).after(c)   # int32[V]: numbers of configurations, 0 if a token is not allowed
    walk.configurations[number]

The idea: the trie is read level by level, each level in a few array operations. A step is a look-up in a table
(configuration, byte) -> configuration, with small numbers for configurations so that the table is dense. The engine
computes only missing entries, once for all bytes that a configuration does not distinguish. 128,000 tokens lead to some
tens of configurations, so a property of all tokens is computed once for each configuration.

This also gives a mask. Under the dynamic lexer, where names may follow names, it is cheaper than the engine's mask,
which looks for the tokens of each of many open lexemes; this one only makes configurations.

Cost: 5 ms a walk for 128k tokens (275k nodes) if all are allowed, less if few are; plus the engine's new steps. Memory:
1 KB a configuration, `MOST` of them; 20 bytes a node for a vocabulary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.parser import advance
from constrain.kernels.records import arena
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import inspect
from constrain.masks.engine.automaton import TokenAutomaton

Ints = NDArray[np.int32]
MOST = 1 << 14  # configurations in the table; beyond, the next walk begins with an empty table
BYTES = [np.array([byte], np.int32) for byte in range(256)]


class Levels(PerVocabulary):
    """A vocabulary's trie in breadth-first order; the children of a node are adjacent.

    Attributes:
        byte: int32[n], the byte of each node.
        token: int32[n], the lowest token id that ends at each node, or -1.
        child: int32[n], the first child of each node.
        children: int32[n], the number of children of each node.
        first: int32[k], the nodes of the first level.
        duplicates: int32[m, 2], pairs (token id, lowest token id with the same bytes).
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        order = np.argsort(trie.depth, kind="stable")
        bounds = np.cumsum(np.bincount(trie.depth, minlength=2)).tolist()  # of levels; no node has depth 0
        self.byte = trie.byte[order].astype(np.int32)
        self.token = trie.token[order]
        self.first = np.arange(bounds[1], dtype=np.int32)
        self.children = np.zeros(len(order), np.int32)
        for start, stop, last in zip(bounds, bounds[1:], bounds[2:], strict=False):
            parents, nodes = order[start:stop], order[stop:last]
            at = np.searchsorted(parents, nodes) - 1  # the parent is the last node before it on the level above
            self.children[start:stop] = np.bincount(at, minlength=stop - start)
        self.child = (len(self.first) + np.cumsum(self.children) - self.children).astype(np.int32)
        self.duplicates = _duplicates(trie.next_same)


def _duplicates(next_same: Ints) -> Ints:
    pairs: list[tuple[int, int]] = []
    lowest: dict[int, int] = {}
    for token in np.flatnonzero(next_same >= 0).tolist():
        duplicate = int(next_same[token])
        lowest[duplicate] = lowest.get(token, token)
        pairs.append((duplicate, lowest[duplicate]))
    return np.array(pairs, np.int32).reshape(-1, 2)


class TrieLevelWalk:
    """The configurations that tokens lead to in one automaton. The caller of its methods holds the automaton's lock.

    Attributes:
        configurations: The configurations by number; number 0 is `arena.NONE`. Numbers are valid until the next call of
            `after`, which clears the table in another epoch of the automaton, or beyond MOST configurations.
    """

    def __init__(self, automaton: TokenAutomaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.levels = Levels.of(vocabulary)
        self.size = vocabulary.size
        self._forget()

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self.configurations = [arena.NONE]
        self._numbers = {arena.NONE: 0}
        self._table = np.full((1, 256), -1, np.int32)  # grows: most texts are never near the end of a limit
        self._table[0] = 0

    def after(self, configuration: int) -> Ints:
        """int32[V]: the number of the configuration after each token; 0 if it is not allowed."""
        if self.epoch != self.automaton.epoch or len(self.configurations) > MOST:
            self._forget()
        levels = self.levels
        numbers = np.zeros(self.size, np.int32)
        nodes = levels.first
        states = np.full(len(nodes), self._number(configuration), np.int32)
        while len(nodes):
            states = self._step(states, levels.byte[nodes])
            alive = np.flatnonzero(states)
            nodes, states = nodes[alive], states[alive]
            tokens = levels.token[nodes]
            ends = np.flatnonzero(tokens >= 0)
            numbers[tokens[ends]] = states[ends]
            children = levels.children[nodes]
            states = np.repeat(states, children)
            before = np.cumsum(children, dtype=np.int32) - children
            nodes = np.repeat(levels.child[nodes] - before, children) + np.arange(len(states), dtype=np.int32)
        numbers[levels.duplicates[:, 0]] = numbers[levels.duplicates[:, 1]]
        return numbers

    def _step(self, states: Ints, byte: Ints) -> Ints:
        """int32[k]: the numbers after one byte each."""
        keys = (states << 8) + byte
        after = self._table.ravel()[keys]
        unknown = keys[after < 0]
        if not len(unknown):
            return after
        for key in np.unique(unknown).tolist():
            if self._table[key >> 8, key & 255] < 0:
                self._learn(key >> 8, key & 255)
        return self._table.ravel()[keys]

    def _learn(self, number: int, byte: int) -> None:
        """Compute the entry of a byte, and of all bytes that lead to the same configuration."""
        automaton, configuration = self.automaton, self.configurations[number]
        after = automaton.memory.call(advance.advance_bytes, configuration, BYTES[byte])
        after = self._number(after & advance.STATE)
        self._table[number, inspect.alike(automaton, configuration, byte)] = after

    def _number(self, configuration: int) -> int:
        """The number of a configuration; new ones get a row of the table."""
        if configuration not in self._numbers:
            number = self._numbers[configuration] = len(self.configurations)
            self.configurations.append(configuration)
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, -1)])
        return self._numbers[configuration]
