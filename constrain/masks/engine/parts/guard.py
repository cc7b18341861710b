"""PartsGuard: the guard of a constraint some of whose parts are read apart.

The idea: the text is read in all ways (readings.py), and a token is allowed if some reading goes on with it. Inside of
a part, and outside of all, masks of the engine tell. The tokens that run over an edge of a part are read byte by byte,
along the trie: a byte behind their first may stand behind the part.

Cost: at a new state the masks of its places, and the bytes of the tokens that may run over an edge; at one that was met
before a copy. Answers are remembered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from constrain.errors import GrammarError
from constrain.languages.automata.syntax import shown_tokens
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.escaped import EscapedText
from constrain.languages.vocab.bits import Row, set_bits, tokens_of
from constrain.languages.vocab.marked import reads_text, spans_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.followed.rule_states import TrieLists
from constrain.masks.engine.parts.escapes import EscapedReader
from constrain.masks.engine.parts.reader import GrammarReader, PartReader
from constrain.masks.engine.parts.readings import NO_STATE, OUTSIDE, Readings

BUDGET = 128 << 20  # bytes of the automaton of marked texts, for each vocabulary and depth of parts in parts
MAX_MASKS = 1024
MAX_GUARDS = 16


@dataclass(frozen=True, slots=True)
class PartsState:
    """The state of the guard after a text.

    Attributes:
        epoch: Of the number: all numbers change if memory runs out.
        number: The state of the readings.
        before: The state before the last step; None: this is the first one.
        step: The bytes of the last step.
    """

    epoch: int
    number: int
    before: PartsState | None = field(compare=False)
    step: bytes = field(compare=False)


class PartsGuard:
    """A `TokenGuard` and `EndingGuard` of texts with parts. It knows all texts of the constraint.

    Args:
        constraint: A constraint some of whose parts are read apart.
        vocabulary: The vocabulary.

    Raises:
        GrammarError: The constraint mentions tokens that have text.

    Attributes:
        always: As of `Guard`.
    """

    always = True

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary) -> None:
        self.automaton = automaton = PartAutomata.of(vocabulary).at(nesting(constraint))
        self.tokens = automaton.vocabulary.tokens
        for node in constraint.token_sets:
            span = spans_of(node, vocabulary)
            if reads_text(span, vocabulary):
                message = (
                    f"{shown_tokens(node)} has tokens with text, which cannot stand beside parts that are read apart"
                )
                raise GrammarError(message, place=repr(constraint), fix="write the text of these tokens")
            automaton.layout.mention({node: span})
        parts = [part for part in constraint.members if part.read_apart or part.guarded]
        readers = [_reader(part, vocabulary, automaton) for part in parts]
        self.readings = Readings(constraint.to_grammar(), parts, readers, automaton)
        self.crossing = CrossingTokens.of(automaton.vocabulary)
        self._masks: dict[tuple[int, int], Row] = {}

    # -- states --------------------------------------------------------------------------------------------------------

    def number_of(self, state: PartsState) -> int:
        """The number of a state, read again if it was forgotten. Called under the automaton's lock."""
        self.readings.follow()
        if state.epoch == self.readings.epoch:
            return state.number
        steps: list[bytes] = []
        at: PartsState | None = state
        while at is not None:
            steps.append(at.step)
            at = at.before
        number = self.readings.first()
        for step in reversed(steps[:-1]):
            number = self.readings.text(number, step)
        return number

    def start(self) -> PartsState:
        """The state before the first byte."""

        def make() -> PartsState:
            self.readings.follow()
            return PartsState(self.readings.epoch, self.readings.first(), None, b"")

        return self.automaton.attempt(make)

    def step(self, state: Hashable, text: bytes) -> PartsState | None:
        """The state after more text; None: no text of the constraint goes on so."""
        at = cast(PartsState, state)

        def make() -> PartsState | None:
            after = self.readings.text(self.number_of(at), text)
            return None if after == NO_STATE else PartsState(self.readings.epoch, after, at, text)

        return self.automaton.attempt(make)

    def step_token(self, state: Hashable, token: int) -> PartsState | None:
        """The state after a token; None: no text of the constraint goes on so."""
        return self.step(state, self.tokens[token] or b"")

    def reader(self, state: Hashable) -> None:
        """None: where values run out is known already."""

    def may_end(self, state: Hashable) -> bool:
        """True if the text may end at a state."""
        return self.automaton.attempt(lambda: self.readings.accepts(self.number_of(cast(PartsState, state))))

    # -- masks ---------------------------------------------------------------------------------------------------------

    def veto(self, state: Hashable, row: Row) -> None:
        """Clear the bits of the tokens that `step` refuses."""
        row = row[: (self.automaton.layout.size + 31) // 32]
        row &= self.automaton.attempt(lambda: self._mask(self.number_of(cast(PartsState, state))))

    def _mask(self, number: int) -> Row:
        """The tokens that may come next, and the EOS tokens: the matcher decides on these."""
        key = self.readings.epoch, number
        row = self._masks.get(key)
        if row is None:
            row = self._make_mask(number)
            set_bits(row, self.automaton.layout.eos_ids)
            row.flags.writeable = False
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            self._masks[key] = row
        return row

    def _make_mask(self, number: int) -> Row:
        readings = self.readings
        row, asked = np.zeros((2, (self.automaton.layout.size + 31) // 32), np.uint32)
        for place in readings.places(number):
            if place.part == OUTSIDE:
                row |= readings.outside(place.around)
                asked |= self.crossing.longer
                continue
            words, unclear = readings.readers[place.part].mask(place.inside)
            row |= words
            if unclear is not None:
                asked |= unclear
            asked |= self.crossing.over(readings.behind(place))
        asked &= ~row
        set_bits(row, self._read(number, asked))
        return row

    def _read(self, number: int, asked: Row) -> list[int]:
        """The tokens of a row that may come next, read byte by byte."""
        trie = TrieLists.of(self.automaton.vocabulary)
        nodes = self.crossing.node[tokens_of(asked)]
        wanted = np.zeros(len(trie.byte) + 1, np.int32)
        wanted[nodes[nodes >= 0] + 1] = 1
        before = np.cumsum(wanted).tolist()  # asked nodes before each
        found: list[int] = []
        stack = [number] * (trie.depths + 1)
        node, last = 0, len(trie.byte)
        while node < last:
            if before[trie.end[node]] == before[node]:
                node = trie.end[node]
                continue
            after = self.readings.byte(stack[trie.depth[node] - 1], trie.byte[node])
            if after == NO_STATE:
                node = trie.end[node]
                continue
            stack[trie.depth[node]] = after
            if before[node + 1] != before[node] and self.readings.settled(after) != NO_STATE:
                token = trie.token[node]
                while token >= 0:
                    found.append(token)
                    token = trie.next_same[token]
            node += 1
        return found


def nesting(constraint: Constraint) -> int:
    """The depth of parts in parts of a constraint."""
    return max((1 + nesting(part) for part in constraint.members), default=0)


def _reader(part: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> PartReader:
    if isinstance(part, EscapedText):
        return EscapedReader(GrammarReader(part.inner, vocabulary, automaton), automaton)
    return GrammarReader(part, vocabulary, automaton)


def guard_of(constraint: Constraint, vocabulary: Vocabulary) -> PartsGuard:
    """The guard of a constraint some of whose parts are read apart; equal constraints share it."""
    guards = PartAutomata.of(vocabulary).guards
    guard = guards.get(constraint)
    if guard is None:
        guard = PartsGuard(constraint, vocabulary)
        if len(guards) >= MAX_GUARDS:
            guards.clear()
        guards[constraint] = guard
    return guard


class PartAutomata(PerVocabulary):
    """The automata of marked texts of a vocabulary, by the depth of parts in parts; the latest guards.

    The guard of a part works while the automaton around it is locked, so it has another one.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.automata: dict[int, TokenAutomaton] = {}
        self.guards: dict[Constraint, PartsGuard] = {}

    def at(self, depth: int) -> TokenAutomaton:
        """The automaton for a depth."""
        if depth not in self.automata:
            self.automata[depth] = TokenAutomaton(self.vocabulary, BUDGET, tokens="special")
        return self.automata[depth]


class CrossingTokens(PerVocabulary):
    """The tokens of a vocabulary by what they have behind their first byte.

    Attributes:
        node: int32[V]: the node of the trie where a token ends; -1: it has no bytes.
        longer: The tokens of several bytes.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self.node = vocabulary.trie.nodes_of_tokens(len(vocabulary.tokens))
        self.longer = self._row(np.array([text is not None and len(text) > 1 for text in vocabulary.tokens], np.bool_))
        self._with: dict[int, Row] = {}

    def over(self, behind: bytes | None) -> Row:
        """The tokens that may run over the end of a part. behind: the bytes that may stand behind it; None: any."""
        if behind is None:
            return self.longer
        row = np.zeros_like(self.longer)
        for byte in behind if len(behind) < 128 else b"":
            if byte not in self._with:
                self._with[byte] = self._row(np.array([byte in (text or b"")[1:] for text in self.tokens], np.bool_))
            row |= self._with[byte]
        return row if len(behind) < 128 else self.longer

    @staticmethod
    def _row(flags: NDArray[np.bool_]) -> Row:
        """uint32[ceil(V / 32)]: some tokens."""
        padded = np.zeros(-(-len(flags) // 32) * 32, np.bool_)
        padded[: len(flags)] = flags
        return np.packbits(padded, bitorder="little").view(np.uint32)
