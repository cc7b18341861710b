"""How many tokens a text still needs, and after each token that may come next.

    to_end.needs(c)            # tokens that complete the text from a configuration, EOS counted
    to_end.after(c)            # the same after each token that may follow: int32[V]

The number is that of the fewest tokens that spell the shortest completion in bytes (shortest.py): a bound that can be
kept, since after the first of these tokens it is one less. It is not always the least number of tokens: a text of more
bytes may have fewer tokens.

The idea for `after`: the tokens lead to few configurations (levels.py), and each of these is asked once.

Cost: once a vocabulary 0.1 s for 128k tokens; a call of `after` 5 ms and what is new in it, remembered for the
configuration.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from constrain.completion.levels import TrieLevelWalk
from constrain.completion.shortest import Shortest
from constrain.engine.automaton import CompiledRules, TokenAutomaton
from constrain.vocab.tables import PerVocabulary
from constrain.vocab.vocabulary import Vocabulary

Counts = NDArray[np.int32]
NEVER = 1 << 30  # tokens: no completion was found, or the vocabulary cannot spell it
REMEMBERED = 128  # configurations whose `after` is kept: half a megabyte each for 128k tokens

_kept: weakref.WeakKeyDictionary[TokenAutomaton, OrderedDict[CompiledRules, TokensToEnd]] = weakref.WeakKeyDictionary()
KEPT = 8  # grammars of an automaton whose counts are kept for the next request


class Spellings(PerVocabulary):
    """The tokens of a vocabulary, for counting."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.texts = {token for token in vocabulary.tokens if token}
        self.longest = max(map(len, self.texts), default=0)

    def fewest(self, text: bytes) -> int:
        """The fewest tokens that spell a text; NEVER if none do."""
        counts = [0] * (len(text) + 1)
        for start in range(len(text) - 1, -1, -1):
            ends = range(start + 1, min(len(text), start + self.longest) + 1)
            counts[start] = 1 + min((counts[end] for end in ends if text[start:end] in self.texts), default=NEVER)
        return min(counts[0], NEVER)


class TokensToEnd:
    """What the configurations of one compiled constraint need; the caller holds the automaton's lock."""

    @classmethod
    def of(cls, automaton: TokenAutomaton, rules: CompiledRules, vocabulary: Vocabulary) -> TokensToEnd:
        """The to_end of a grammar, kept for as long as few others are asked for. Raises LimitError."""
        known = _kept.setdefault(automaton, OrderedDict())
        if rules not in known:
            known[rules] = cls(automaton, rules, vocabulary)
        known.move_to_end(rules)
        if len(known) > KEPT:
            known.popitem(last=False)
        return known[rules]

    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules, vocabulary: Vocabulary) -> None:
        """Raises LimitError for a grammar of too many rules."""
        self.automaton = automaton
        self.shortest = Shortest(automaton, rules)
        self.spellings = Spellings.of(vocabulary)
        self.walk = TrieLevelWalk(automaton, vocabulary)
        self._counts: dict[bytes, int] = {}
        self._forget()

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self._needs: dict[int, int] = {}
        self._after: OrderedDict[int, Counts] = OrderedDict()

    def needs(self, configuration: int) -> int:
        """Tokens that complete the text, EOS counted; NEVER if no completion was found."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration not in self._needs:
            text = self.shortest.completion(configuration)
            if text is not None and text not in self._counts:
                self._counts[text] = self.spellings.fewest(text)
            self._needs[configuration] = NEVER if text is None else min(self._counts[text] + 1, NEVER)
        return self._needs[configuration]

    def after(self, configuration: int) -> Counts:
        """What is needed after each token that the grammar allows; NEVER for the others. int32[V]"""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration in self._after:
            self._after.move_to_end(configuration)
            return self._after[configuration]
        walk = self.walk
        numbers = walk.after(configuration)
        met = np.zeros(len(walk.configurations), np.bool_)
        met[numbers] = True
        needed = np.full(len(met), NEVER, np.int32)
        for number in np.flatnonzero(met[1:]).tolist():
            needed[number + 1] = self.needs(walk.configurations[number + 1])
        counts = self._after[configuration] = needed[numbers]
        if len(self._after) > REMEMBERED:
            self._after.popitem(last=False)
        return counts
