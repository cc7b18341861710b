"""RegionsGuard: the guard of a constraint whose texts have regions.

The idea: the text is read in all ways (places.py), and a token is allowed if some place goes on with it. In a region
apart, and outside of all, masks of the engine tell. Tokens that run over an edge of a region are read byte by byte,
along the trie. Where all regions have room for any token, nothing is vetoed and nothing is read.

Cost: at a new state the masks of its places, and the bytes of the tokens that may run over an edge; at one that was met
before a copy. Answers are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrain.errors import GrammarError
from constrain.kernels.parser import advance
from constrain.languages.automata.marks import MARK
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.guards import Guard, MaskKey
from constrain.languages.vocab.bits import Row, clear_bits, has_bits, set_bits, tokens_of
from constrain.languages.vocab.marked import reads_text, spans_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.utf8 import LONGEST, missing_bytes
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.regions.places import (
    NO_SLACK,
    NO_STATE,
    SLACK,
    RegionPlace,
    RegionPlaces,
    TextRegion,
    TrieLists,
)

BUDGET = 128 << 20  # bytes of the automaton of marked texts, for each vocabulary and depth of parts in parts
MAX_MASKS = 1024
MAX_GUARDS = 32
FEW = 300  # tokens that are read one by one, without the trie
BEFORE_MARKS = np.array([-1] * 7 + [0x7FFFFFFF], np.int32)  # the bytes that begin no mark, as a bitmap


@dataclass(frozen=True, slots=True)
class RegionsState:
    """The state of the guard after a text.

    Attributes:
        epoch: Of the number: all numbers change if memory runs out.
        number: The state of the places.
        before: The state before the last step; None: this is the first one.
        step: The bytes of the last step, which is one token.
    """

    epoch: int
    number: int
    before: RegionsState | None = field(compare=False)
    step: bytes = field(compare=False)


class RegionsGuard(Guard):
    """The guard of texts with regions. It knows all texts of its grammar.

    Args:
        constraint: The constraint.
        vocabulary: The vocabulary.
        grammar: The grammar with marks around regions.
        regions: The regions, in the order of their marks.
        automaton: The automaton of marked texts.
        beside: What no set of tokens with text may stand beside, and its place in the source.

    Raises:
        GrammarError: The constraint mentions tokens that have text.
    """

    by_token = ending = True
    layer = "region", "a part that is read with a lexer or a guard of its own does not go on so"

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        grammar: Grammar,
        regions: Sequence[TextRegion],
        automaton: TokenAutomaton,
        beside: tuple[str, str | None],
    ) -> None:
        self.automaton = automaton
        self.tokens = automaton.vocabulary.tokens
        spans = {node: spans_of(node, vocabulary) for node in constraint.token_sets}
        if any(reads_text(span, vocabulary) for span in spans.values()):
            message = f"a set of tokens that has tokens with text cannot stand beside {beside[0]}"
            raise GrammarError(message, place=beside[1], fix="write the text of these tokens")
        automaton.layout.mention(spans)
        self.places = RegionPlaces(grammar, regions, automaton)
        self.always = self.remembers = not self.places.counts
        self.vetoes = self.always or any(region.bounded for region in regions)
        self.tempered = any(region.temperature is not None for region in regions)
        self.kinds = TokenKinds.of(automaton.vocabulary)
        self._masks: Remembered[Hashable, Row] = Remembered(MAX_MASKS)
        self._temperatures: tuple[int, dict[int, float | None]] = (-1, {})

    # -- states --------------------------------------------------------------------------------------------------------

    def number_of(self, state: RegionsState) -> int:
        """The number of a state, read again if it was forgotten. Called under the automaton's lock."""
        self.places.follow()
        if state.epoch == self.places.epoch:
            return state.number
        steps: list[bytes] = []
        at: RegionsState | None = state
        while at is not None:
            steps.append(at.step)
            at = at.before
        number = self.places.first()
        for step in reversed(steps[:-1]):
            number = self.places.text(number, step)
        return number

    def start(self) -> RegionsState:
        def make() -> RegionsState:
            self.places.follow()
            return RegionsState(self.places.epoch, self.places.first(), None, b"")

        return self.automaton.attempt(make)

    def step(self, state: RegionsState, text: bytes) -> RegionsState | None:
        def make() -> RegionsState | None:
            after = self.places.text(self.number_of(state), text)
            return None if after == NO_STATE else RegionsState(self.places.epoch, after, state, text)

        return self.automaton.attempt(make)

    def step_token(self, state: RegionsState, token: int, text: bytes) -> RegionsState | None:
        return self.step(state, self.tokens[token] or b"")  # marked

    def may_end(self, state: RegionsState) -> bool:
        return self.automaton.attempt(lambda: self.places.accepts(self.number_of(state)))

    def temperature(self, state: RegionsState) -> float | None:
        """The highest temperature of the regions in which the next token may begin; None: none of them has one.

        Of regions inside of each other the innermost counts.
        """

        def ask() -> float | None:
            number = self.number_of(state)
            if self._temperatures[0] != self.places.epoch:
                self._temperatures = self.places.epoch, {}
            known = self._temperatures[1]
            if number not in known:
                temperatures = [self._temperature(place) for place in self.places.places(number)]
                known[number] = max((each for each in temperatures if each is not None), default=None)
            return known[number]

        return self.automaton.attempt(ask) if self.tempered else None

    def _temperature(self, place: RegionPlace) -> float | None:
        """The temperature of a place, where a token may begin before any mark; None: none."""
        regions = [(self.places.regions[number], inside) for number, inside in reversed(place.opens)]
        asked = next((region.temperature for region, _ in regions if region.temperature is not None), None)
        if asked is None or any(region.step(inside, 0) is None for region, inside in regions):
            return None
        goes_on = self.automaton.memory.call(advance.any_byte, place.around, BEFORE_MARKS)
        return asked if goes_on or self.places.outside(place.around).any() else None

    # -- masks ---------------------------------------------------------------------------------------------------------

    def veto(self, state: RegionsState, row: Row) -> None:
        if self.vetoes:
            row = row[: (self.automaton.layout.size + 31) // 32]
            self.automaton.attempt(lambda: self._narrow(self.number_of(state), row))

    def _narrow(self, number: int, row: Row) -> None:
        slack = self.places.slack(number)
        if slack == NO_SLACK:
            row &= self._mask(number, row)
        elif slack != SLACK:
            asked = self.kinds.halves[has_bits(row, self.kinds.halves)]
            clear_bits(row, set(asked.tolist()).difference(self._read(number, asked)))

    def _mask(self, number: int, row: Row) -> Row:
        """The tokens that may come next, and the EOS tokens: the matcher decides on these. row: what is asked."""
        key = self.places.epoch, number, hash(row.tobytes()) if self.places.counts else 0
        words = self._masks.get(key)
        if words is None:
            words = self._make_mask(number, row)
            set_bits(words, self.automaton.layout.eos_ids)
            self._masks.keep(key, words)
        return words

    def known_row(self, state: RegionsState, key: MaskKey) -> Row | None:
        return self._masks.get((state.epoch, state.number, key))

    def keep_row(self, state: RegionsState, key: MaskKey, row: Row) -> None:
        self._masks.keep((state.epoch, state.number, key), row.copy())

    def _make_mask(self, number: int, given: Row) -> Row:
        places, kinds = self.places, self.kinds
        row, asked = np.zeros((2, (self.automaton.layout.size + 31) // 32), np.uint32)
        for place in places.places(number):
            opens = [(places.regions[each], inside) for each, inside in place.opens]
            if not opens or not opens[-1][0].apart:
                if all(region.slack(inside) == SLACK for region, inside in opens):
                    row |= places.outside(place.around)
                asked |= kinds.longer
                continue
            words, unclear = opens[-1][0].mask(opens[-1][1])
            row |= words
            if unclear is not None:
                asked |= unclear
            asked |= kinds.over(places.behind(place))
        if places.counts:  # whoever asks has asked the grammar, which allows no more
            asked = given
        set_bits(row, self._read(number, tokens_of(asked & ~row)))
        return row

    def _read(self, number: int, asked: NDArray[np.int64]) -> list[int]:
        """The asked tokens that may come next, read byte by byte."""
        places = self.places
        if len(asked) <= FEW:
            return [token for token in asked.tolist() if places.text(number, self.tokens[token] or b"") != NO_STATE]
        nodes = self.kinds.node[asked]
        next_same = TrieLists.of(self.automaton.vocabulary).next_same
        found: list[int] = []
        for token, after in places.walk(number, nodes[nodes >= 0]):
            while token >= 0 and places.settled(after) != NO_STATE:
                found.append(token)
                token = next_same[token]
        return found


class Automata(PerVocabulary):
    """The automata of marked texts of a vocabulary, by the depth of parts in parts; the latest guards.

    The guard of a part works while the automaton around it is locked, so it has another one.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.automata: dict[int, TokenAutomaton] = {}
        self.guards: Remembered[Hashable, RegionsGuard] = Remembered(MAX_GUARDS)

    def at(self, depth: int) -> TokenAutomaton:
        """The automaton for a depth."""
        if depth not in self.automata:
            self.automata[depth] = TokenAutomaton(self.vocabulary, BUDGET, tokens="special")
        return self.automata[depth]

    def guard(self, key: Hashable, make: Callable[[], RegionsGuard]) -> RegionsGuard:
        """The guard of a key, made if it is not known."""
        guard = self.guards.get(key)
        return self.guards.keep(key, make()) if guard is None else guard


class TokenKinds(PerVocabulary):
    """The tokens of a vocabulary by their bytes.

    Attributes:
        node: int32[V]: the node of the trie where a token ends; -1: it has no bytes.
        longer: The tokens of several bytes.
        halves: The tokens that end inside of a character.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self.node = vocabulary.trie.nodes_of_tokens(len(vocabulary.tokens))
        self.longer = self._row(np.array([text is not None and len(text) > 1 for text in vocabulary.tokens], np.bool_))
        texts = ((token, text) for token, text in enumerate(vocabulary.tokens) if text and text[0] != MARK)
        self.halves = np.array([token for token, text in texts if missing_bytes(LONGEST, text)], np.int64)
        self._with: dict[int, Row] = {}

    def over(self, behind: bytes | None) -> Row:
        """The tokens that may run over the end of a region. behind: the bytes that may stand behind it; None: any."""
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
