"""Where every token leads from a configuration, all tokens at once.

    Walk(automaton, vocabulary).after(c)      # int32[V]: numbers of configurations, 0 where the token is not allowed
    walk.configurations[number]

The idea: the vocabulary's trie is read level by level, each level in a few array operations: a step is a look-up in a
table (configuration, byte) -> configuration, with small numbers for configurations so that the table is dense. The
engine is asked only for the entries that are missing, once for all bytes that a configuration does not tell apart.
128,000 tokens lead to some tens of configurations, so what is to be known of each token is found once for each.

This is also a mask, and under the dynamic lexer, where names may follow names, a cheaper one than the engine's: that
one looks for the tokens of every lexeme in progress, of which there are many, and this one only makes configurations.

Cost: 5 ms a walk for 128k tokens (275k nodes) where all of them are allowed, less where few are; then the steps of the
engine that are new. Memory: 1 KB a configuration, `MOST` of them; 20 bytes a node for a vocabulary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.engine import inspect as anatomy
from constrain.engine.automaton import TokenAutomaton
from constrain.kernels.parser import advance
from constrain.kernels.records import arena
from constrain.vocab.tables import PerVocabulary
from constrain.vocab.vocabulary import Vocabulary

Ints = NDArray[np.int32]
MOST = 1 << 14  # configurations; beyond, a walk begins with an empty table
BYTES = [np.array([byte], np.int32) for byte in range(256)]


class Levels(PerVocabulary):
    """A vocabulary's trie, level after level; the children of a node are neighbours.

    byte: int32[n]. token: int32[n], the lowest token that ends here, or -1. child: int32[n], the first child.
    children: int32[n], how many. first: int32[k], the nodes of the first level. twins: int32[m, 2], (token, the lowest
    token of the same bytes).
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
            at = np.searchsorted(parents, nodes) - 1  # the parent is the last node of its level that comes before
            self.children[start:stop] = np.bincount(at, minlength=stop - start)
        self.child = (len(self.first) + np.cumsum(self.children) - self.children).astype(np.int32)
        self.twins = _twins(trie.next_same)


def _twins(next_same: Ints) -> Ints:
    found: list[tuple[int, int]] = []
    lowest: dict[int, int] = {}
    for token in np.flatnonzero(next_same >= 0).tolist():
        twin = int(next_same[token])
        lowest[twin] = lowest.get(token, token)
        found.append((twin, lowest[twin]))
    return np.array(found, np.int32).reshape(-1, 2)


class TrieLevelWalk:
    """Where tokens lead under one automaton; the caller of its methods holds the automaton's lock.

    configurations: by number; number 0 is the dead one. Numbers are good until `after` is called again, which begins
    anew in another epoch of the automaton, and beyond MOST configurations.
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
        self._table = np.full((64, 256), -1, np.int32)
        self._table[0] = 0

    def after(self, configuration: int) -> Ints:
        """The number of the configuration after each token; 0 if it is not allowed. int32[V]"""
        if self.epoch != self.automaton.epoch or len(self.configurations) > MOST:
            self._forget()
        levels = self.levels
        found = np.zeros(self.size, np.int32)
        nodes = levels.first
        states = np.full(len(nodes), self._number(configuration), np.int32)
        while len(nodes):
            states = self._step(states, levels.byte[nodes])
            alive = np.flatnonzero(states)
            nodes, states = nodes[alive], states[alive]
            tokens = levels.token[nodes]
            ends = np.flatnonzero(tokens >= 0)
            found[tokens[ends]] = states[ends]
            children = levels.children[nodes]
            states = np.repeat(states, children)
            before = np.cumsum(children, dtype=np.int32) - children
            nodes = np.repeat(levels.child[nodes] - before, children) + np.arange(len(states), dtype=np.int32)
        found[levels.twins[:, 0]] = found[levels.twins[:, 1]]
        return found

    def _step(self, states: Ints, byte: Ints) -> Ints:
        """The numbers after one byte each. int32[k]"""
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
        """Find out where a byte leads, and with it those that lead there too."""
        automaton, configuration = self.automaton, self.configurations[number]
        after = automaton.call(advance.advance_bytes, configuration, BYTES[byte])
        after = self._number(after & (advance.WATCH - 1))
        self._table[number, anatomy.alike(automaton, configuration, byte)] = after

    def _number(self, configuration: int) -> int:
        if configuration not in self._numbers:
            number = self._numbers[configuration] = len(self.configurations)
            self.configurations.append(configuration)
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, -1)])
        return self._numbers[configuration]
