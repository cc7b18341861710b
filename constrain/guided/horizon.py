"""How many tokens a text still needs, and after each token that may come next.

    horizon.needs(c)            # tokens that complete the text from a configuration, EOS counted
    horizon.after(c)            # the same after each token that may follow: int32[V]

The number is that of the fewest tokens that spell the shortest completion in bytes (shortest.py): a bound that can be
kept, since after the first of these tokens it is one less. It is not always the least number of tokens: a text of more
bytes may have fewer tokens.

The idea for `after`: most tokens stay inside a lexeme whose state does not change. Tokens are grouped by their first
byte; those whose other bytes all lead from the state after it to itself need what that state needs, decided for all at
once with bit sets. The others are read one by one.

Cost: once a vocabulary 0.5 s for 128k tokens; a call of `after` 1 to 30 ms, remembered for the configuration.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from constrain.engine.automaton import TokenAutomaton
from constrain.grammar.rules import Grammar
from constrain.guided.shortest import Shortest
from constrain.kernels import arena, configurations, masks
from constrain.vocab.vocabulary import Vocabulary

Counts = NDArray[np.int32]
Flags = NDArray[np.bool_]
NEVER = 1 << 30  # tokens: no completion was found, or the vocabulary cannot spell it
FEW = 8  # tokens: for fewer, finding the loops costs more than it saves
REMEMBERED = 128  # configurations whose `after` is kept: half a megabyte each for 128k tokens

_tables: weakref.WeakKeyDictionary[Vocabulary, Spellings] = weakref.WeakKeyDictionary()
_horizons: weakref.WeakKeyDictionary[TokenAutomaton, OrderedDict[Grammar, Horizon]] = weakref.WeakKeyDictionary()
KEPT = 8  # grammars of an automaton whose horizons are kept for the next request


class Spellings:
    """The tokens of a vocabulary, for counting and for grouping.

    first: int16[V], the first byte, -1 for tokens without bytes. rest: uint64[V, 4], the set of the other bytes.
    whole: bool[V], tokens that are text: they do not cut a character.
    """

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Spellings:
        """The tables of a vocabulary, made once."""
        known = _tables.get(vocabulary)
        if known is None:
            known = _tables[vocabulary] = cls(vocabulary)
        return known

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.texts = {token for token in vocabulary.tokens if token}
        self.longest = max(map(len, self.texts), default=0)
        self.first = np.full(vocabulary.size, -1, np.int16)
        self.rest = np.zeros((vocabulary.size, 4), np.uint64)
        self.whole = np.zeros(vocabulary.size, np.bool_)
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                self.first[token_id] = token[0]
                self.whole[token_id] = token.isascii() or _is_text(token)
                members = 0
                for byte in set(token[1:]):
                    members |= 1 << byte
                if members:
                    self.rest[token_id] = _words(members)

    def fewest(self, text: bytes) -> int:
        """The fewest tokens that spell a text; NEVER if none do."""
        counts = [0] * (len(text) + 1)
        for start in range(len(text) - 1, -1, -1):
            ends = range(start + 1, min(len(text), start + self.longest) + 1)
            counts[start] = 1 + min((counts[end] for end in ends if text[start:end] in self.texts), default=NEVER)
        return min(counts[0], NEVER)


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _words(members: int) -> NDArray[np.uint64]:
    return np.frombuffer(members.to_bytes(32, "little"), np.uint64)


BEYOND_ASCII = _words((1 << 256) - (1 << 128))


def _within(sets: NDArray[np.uint64], members: NDArray[np.uint64]) -> Flags:
    """Which sets of bytes, uint64[N, 4], have no others than these members, uint64[4]."""
    inside: Flags = np.all((sets & ~members) == 0, axis=1)
    return inside


class Horizon:
    """What the configurations of one compiled constraint need; the caller holds the automaton's lock."""

    @classmethod
    def of(cls, automaton: TokenAutomaton, grammar: Grammar, vocabulary: Vocabulary) -> Horizon:
        """The horizon of a grammar, kept for as long as few others are asked for. Raises LimitError."""
        known = _horizons.setdefault(automaton, OrderedDict())
        if grammar not in known:
            known[grammar] = cls(automaton, grammar, vocabulary)
        known.move_to_end(grammar)
        if len(known) > KEPT:
            known.popitem(last=False)
        return known[grammar]

    def __init__(self, automaton: TokenAutomaton, grammar: Grammar, vocabulary: Vocabulary) -> None:
        """Raises LimitError if no text is found in the grammar (`Shortest`)."""
        self.automaton = automaton
        self.shortest = Shortest(automaton, grammar)
        self.spellings = Spellings.of(vocabulary)
        self.size = vocabulary.size
        self._counts: dict[bytes, int] = {}
        self._forget()

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self._needs: dict[int, int] = {}
        self._loops: dict[tuple[int, bool], NDArray[np.uint64]] = {}
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
        counts = np.full(self.size, NEVER, np.int32)
        row = np.zeros((self.size + 31) // 32, np.uint32)
        self.automaton.call(masks.fill_mask, configuration, row)
        allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: self.size].astype(bool)
        allowed &= self.spellings.first >= 0
        first = self.spellings.first
        beyond = np.flatnonzero(allowed & (first >= 0x80) & self.spellings.whole)
        staying = beyond[self._stays(beyond, configuration, first[beyond])] if len(beyond) > FEW else beyond[:0]
        counts[staying] = self.needs(configuration)
        allowed[staying] = False
        for byte in np.unique(first[allowed]).tolist():
            self._fill(counts, np.flatnonzero(allowed & (first == byte)), self._step(configuration, byte))
        self._after[configuration] = counts
        if len(self._after) > REMEMBERED:
            self._after.popitem(last=False)
        return counts

    def _fill(self, counts: Counts, tokens: NDArray[np.int64], state: int) -> None:
        """The counts of tokens whose first byte leads to a state."""
        if len(tokens) > FEW:
            staying = self._stays(tokens, state)
            counts[tokens[staying]] = self.needs(state)
            tokens = tokens[~staying]
        for token, rest in self._rests(tokens):
            after = self.automaton.call(configurations.advance_bytes, state, rest) & (configurations.WATCH - 1)
            counts[token] = self.needs(after)

    def _rests(self, tokens: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int32]]]:
        A = self.automaton.A
        found = []
        at, text = int(A[arena.TOKEN_AT]), A[int(A[arena.TOKEN_BYTES]) :].view(np.uint8)
        for token in tokens.tolist():
            start, stop = A[at + token : at + token + 2].tolist()
            found.append((token, text[start + 1 : stop].astype(np.int32)))
        return found

    def _step(self, state: int, byte: int) -> int:
        words = np.array([byte], np.int32)
        return self.automaton.call(configurations.advance_bytes, state, words) & (configurations.WATCH - 1)

    def _stays(self, tokens: NDArray[np.int64], state: int, first: NDArray[np.int16] | None = None) -> Flags:
        """Which tokens' bytes but the first (of characters beyond ASCII: all) lead from the state to itself."""
        others = self.spellings.rest[tokens]
        characters = self._loop(state, True)
        whole: Flags = self.spellings.whole[tokens] & _within(others, characters)
        if first is not None:
            return whole if (characters & BEYOND_ASCII).any() else np.zeros_like(whole)
        staying: Flags = whole | _within(others, self._loop(state, False))
        return staying

    def _loop(self, state: int, characters: bool) -> NDArray[np.uint64]:
        """The set of bytes that lead from a state to itself. uint64[4]
        characters: those beyond ASCII too, if every character beyond ASCII that may follow leads there."""
        if (state, characters) not in self._loops:
            members = 0
            for byte in range(128 if characters else 256):
                if self._step(state, byte) == state:
                    members |= 1 << byte
            found = _words(members)
            if characters and self._loops_beyond_ascii(state):
                found = found | BEYOND_ASCII
            self._loops[state, characters] = found
        return self._loops[state, characters]

    def _loops_beyond_ascii(self, state: int) -> bool:
        """Whether some character beyond ASCII may follow, and all that may lead back to the state."""
        begun = {(self._step(state, lead), 1 + (lead >= 0xE0) + (lead >= 0xF0)) for lead in range(0xC2, 0xF5)}
        open_ones = {pair for pair in begun if pair[0] != arena.NONE}
        returned = False
        while open_ones:  # (state inside a character, bytes that it misses)
            inside, missing = open_ones.pop()
            for byte in range(0x80, 0xC0):
                after = self._step(inside, byte)
                if after == arena.NONE:
                    continue
                if missing > 1:
                    open_ones.add((after, missing - 1))
                elif after != state:
                    return False
                else:
                    returned = True
        return returned
