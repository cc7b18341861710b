"""The number of tokens that a text still needs, now and after each token that may come next.

    to_end.needs(c)            # the tokens that complete the text from a configuration, EOS included
    to_end.after(c)            # the same after each token that may come next: int32[V]

The number is the least number of tokens that spell the shortest completion in bytes (shortest.py). It is an inductive
bound: after the first of these tokens it is one less. It is not always minimal: a text with more bytes may have fewer
tokens.

The idea for `after`: all tokens together lead to few configurations (levels.py), and `needs` is computed once for each.

Cost: 0.1 s for a vocabulary of 128k tokens; `after` takes 5 ms plus new completions, and is cached by configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from constrain.languages.automata.marks import LENGTH
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered
from constrain.limits import tick
from constrain.masks.completion.farthest import MostTokens
from constrain.masks.completion.levels import TrieLevelWalk
from constrain.masks.completion.shortest import Shortest
from constrain.masks.completion.spellings import NEVER, CharacterCounts, Spellings
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

Counts = NDArray[np.int32]
Counting = TypeVar("Counting", bound="TokensToEnd")
UNKNOWN = NEVER - 1  # none was found
SEARCHED = 1_000  # configurations; where the shortest completion cannot be spelled, the search for one gives up
REMEMBERED = 128  # configurations whose `after` is cached: half a megabyte each for 128k tokens

KEPT = 8  # grammars of an automaton whose counts are cached for the next request


class TokensToEnd:
    """The numbers of tokens to the end for one grammar. The caller of its methods holds the automaton's lock.

    counted: what counts the length of texts
    known: what `needs`, `most` and `latest` said, by `Steps.place`: read and written without the lock
    """

    counted: type[Spellings | CharacterCounts] = Spellings

    @classmethod
    def of(cls: type[Counting], automaton: TokenAutomaton, rules: CompiledRules, vocabulary: Vocabulary) -> Counting:
        """The cached object of a grammar (the latest `KEPT` grammars are cached). Raises LimitError."""
        cached: Remembered[CompiledRules, Counting] = automaton.kept.setdefault(cls, Remembered(KEPT))
        return cached.keep(rules, cached.get(rules) or cls(automaton, rules, vocabulary))

    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules, vocabulary: Vocabulary) -> None:
        """Raises LimitError if the grammar has too many rules without a text."""
        self.automaton = automaton
        self.spellings = self.counted.of(vocabulary)
        self.shortest = Shortest(automaton, rules, self.spellings)
        self.walk = TrieLevelWalk(automaton, vocabulary)
        self._counts: dict[bytes, int] = {}
        self._forget()

    @cached_property
    def longest(self) -> int:
        """The bytes that a token reads at most."""
        return max(self.spellings.longest, LENGTH)

    @cached_property
    def farthest(self) -> MostTokens:
        """The bounds of what any text needs, without the EOS."""
        return self.shortest.bound_of(self.shortest.grammar.start)

    def most(self, configuration: int) -> int:
        """The tokens that complete the text at most; n bytes later n more, whatever they are."""
        return self.shortest.most(configuration)

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self.known: dict[str, dict[int, int]] = {"needs": {}, "most": {}, "latest": {}}
        self._needs: dict[int, int] = {}
        self._latest: dict[int, int] = {}
        self._after: Remembered[int, Counts] = Remembered(REMEMBERED)

    def needs(self, configuration: int) -> int:
        """The tokens that complete the text, EOS included; UNKNOWN if none were found, NEVER if none do."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration not in self._needs:
            spelled = self._spelled(configuration)
            self._needs[configuration] = self._search(configuration) if spelled == UNKNOWN else spelled
        return self._needs[configuration]

    def _spelled(self, configuration: int) -> int:
        """The number of tokens that spell the shortest completion in bytes, and the EOS; UNKNOWN if none do."""
        text = self.shortest.completion(configuration)
        if text is None:
            return UNKNOWN
        if text not in self._counts:
            self._counts[text] = self.spellings.fewest(text)
        return min(self._counts[text] + 1, UNKNOWN)

    def _search(self, configuration: int) -> int:
        """The number of tokens to the end over the nearest texts whose shortest completion tokens spell.

        The tokens of one more level are tried at a time, so after the first of them the number is at most one less.
        """
        if self.spellings.writes_all:
            return NEVER
        seen, level = {configuration}, {configuration}
        taken, fewest = 0, UNKNOWN
        while fewest == UNKNOWN:
            if len(seen) > SEARCHED:
                return UNKNOWN
            taken += 1
            level = {after for before in level for after in self._following(before)} - seen
            seen |= level
            fewest = min(map(self._spelled, level), default=NEVER)
        if fewest == NEVER:
            self._needs.update(dict.fromkeys(seen, NEVER))
        return min(taken + fewest, NEVER)

    def _following(self, configuration: int) -> Iterator[int]:
        """The configurations after the tokens that the grammar allows."""
        tick()
        numbers, configurations = self.walk.after(configuration), self.walk.configurations
        return (configurations[number] for number in np.unique(numbers[numbers > 0]).tolist())

    def after(self, configuration: int) -> Counts:
        """int32[V]: `needs` after each token that the grammar allows; NEVER for other tokens."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration in self._after:
            return self._after.keep(configuration, self._after[configuration])
        numbers, configurations = self.walk.after(configuration), self.walk.configurations  # `needs` may walk, too
        reached = np.zeros(len(configurations), np.bool_)
        reached[numbers] = True
        needed = np.full(len(reached), NEVER, np.int32)
        for number in np.flatnonzero(reached[1:]).tolist():
            needed[number + 1] = self.needs(configurations[number + 1])
        self._latest[configuration] = int(needed[1:][reached[1:]].max(initial=0))
        counts = needed[numbers]
        if offset := self.automaton.layout.offset:  # a token may be read in two ways (engine/tokenwise.py)
            counts, twice = counts[: self.automaton.layout.size], counts[offset : offset + self.automaton.layout.size]
            counts = np.minimum(counts, twice)
        return self._after.keep(configuration, counts)

    def latest(self, configuration: int) -> int:
        """The greatest `needs` after a token that the grammar allows, or more than that; 0: it allows none."""
        if self.epoch != self.automaton.epoch or configuration not in self._latest:
            self.after(configuration)
        return self._latest[configuration]

    def reached(self, configuration: int) -> NDArray[np.int64]:
        """int64[V]: a number for the configuration after each token; 0 for tokens that the grammar does not allow."""
        numbers = self.walk.after(configuration).astype(np.int64)
        size, offset = self.automaton.layout.size, self.automaton.layout.offset
        if offset:
            return numbers[:size] << 32 | numbers[offset : offset + size]
        return numbers
