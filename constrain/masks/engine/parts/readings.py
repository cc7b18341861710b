"""Readings: all ways to read a text with parts, as sets of places.

The idea: the grammar around the parts has a mark where a part begins and one where it ends, which no text has
(automata/marks.py). A *place* is a configuration of that grammar and, inside of a part, the state of the part's reader.
A mark is read wherever one is possible: where the grammar begins a part, its reader starts; where a part may end, it
may be left. So a text has several places, and a *state* is the set of them, as a number. States remember their steps.
Whether a part may end is asked only where the next byte may stand behind it: a monitor takes long to say.

Everything is called under the automaton's lock, and every number is forgotten when the automaton forgets its own.
Cost: some microseconds for each place and byte that is new.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from constrain.errors import LimitError
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.marks import MARK, mark
from constrain.languages.automata.memory import Int32, words_of
from constrain.languages.cfg.followed import bracket
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.parts import PartSymbol
from constrain.languages.vocab.bits import Row
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.parts.reader import PartReader

MAX_PLACES = 1000  # of one text
MAX_STATES, MAX_STEPS = 50_000, 500_000  # that are remembered
NO_STATE = -1
OUTSIDE = -1
BYTES = [words_of(bytes((byte,))) for byte in range(256)]


class ReadingPlace(NamedTuple):
    """A place of a text, for one way to read it.

    Attributes:
        around: The configuration of the grammar with marks.
        part: The number of the part that the text is in; OUTSIDE: in none.
        inside: The state of its reader.
        kept: What texts of parts that share their names have left to the next ones: (part, state) each.
    """

    around: int
    part: int = OUTSIDE
    inside: Hashable = None
    kept: tuple[tuple[int, Hashable], ...] = ()


class Readings:
    """The states of the texts of one constraint with parts.

    Args:
        grammar: The constraint's grammar.
        parts: The constraints that are read apart.
        readers: Their readers.
        automaton: The automaton of marked texts.

    Attributes:
        sets: The places of each state.
        epoch: How often all numbers were forgotten.
        rules: The grammar with marks.
    """

    def __init__(
        self,
        grammar: Grammar,
        parts: Sequence[Constraint],
        readers: Sequence[PartReader],
        automaton: TokenAutomaton,
    ) -> None:
        self.automaton = automaton
        self.readers = readers
        marks = [(bracket(i, True), bracket(i, False)) for i in range(len(parts))]
        automaton.layout.mention({node: ((token, token),) for pair in marks for node, token in pair})
        self._opens, self._closes = ([words_of(mark(token)) for _, token in each] for each in zip(*marks, strict=True))
        numbers = {part: i for i, part in enumerate(parts)}
        self.rules = CompiledRules(with_marks(grammar, numbers), -1)
        self.epoch = self._known_epoch = -1
        self._forget()

    def _forget(self) -> None:
        """Forget everything that depends on the automaton's numbers."""
        self.epoch += 1
        self._known_epoch = self.automaton.epoch
        self.sets: list[tuple[ReadingPlace, ...]] = []
        self._numbers: dict[frozenset[ReadingPlace], int] = {}
        self._after_byte: dict[int, int] = {}
        self._settled: dict[int, int] = {}
        self._around: dict[int, int] = {}
        self._opened: dict[int, list[tuple[int, int]]] = {}
        self._left: dict[ReadingPlace, list[ReadingPlace]] = {}
        self._behind: dict[tuple[int, int], bytes | None] = {}

    def follow(self) -> None:
        """Forget what the automaton has forgotten. Called under its lock."""
        many = len(self.sets) > MAX_STATES or len(self._after_byte) > MAX_STEPS
        if many or self._known_epoch != self.automaton.epoch:
            self._forget()

    def first(self) -> int:
        """The state before the first byte."""
        return self._number([ReadingPlace(self.automaton.start(self.rules))])

    def text(self, state: int, text: bytes) -> int:
        """The state after a text; NO_STATE: it cannot be read."""
        for byte in text:
            if state == NO_STATE:
                return NO_STATE
            state = self.byte(state, byte)
        return self.settled(state)

    def byte(self, state: int, byte: int) -> int:
        """The state after a byte, with places that may turn out to be dead ends."""
        key = state << 8 | byte
        known = self._after_byte.get(key)
        if known is None:
            after: list[ReadingPlace] = []
            for place in self._with_left(self.sets[state], byte):
                if place.part == OUTSIDE:
                    around = self.around(place.around, byte)
                    if around != arena.NONE:
                        after.append(ReadingPlace(around, kept=place.kept))
                else:
                    inside = self.readers[place.part].step(place.inside, byte)
                    if inside is not None:
                        after.append(place._replace(inside=inside))
            known = self._after_byte[key] = self._number(after)
        return known

    def settled(self, state: int) -> int:
        """A state without the places whose parts lead into a dead end."""
        if state == NO_STATE:
            return state
        known = self._settled.get(state)
        if known is None:
            places = self.sets[state]
            kept = [place for place in places if place.part == OUTSIDE or self._lives(place)]
            known = self._settled[state] = state if len(kept) == len(places) else self._number(kept)
        return known

    def _lives(self, place: ReadingPlace) -> bool:
        return self.readers[place.part].lives(place.inside)

    def accepts(self, state: int) -> bool:
        """True if the text may end."""
        accepts, call = configurations.accepts, self.automaton.memory.call
        return any(place.part == OUTSIDE and call(accepts, place.around) for place in self.places(state))

    def places(self, state: int) -> list[ReadingPlace]:
        """The places of a state, and those where parts that may end were left."""
        return self._with_left(self.sets[state])

    def outside(self, around: int) -> Row:
        """The tokens that may come next outside of all parts, and begin none."""
        row = np.zeros((self.automaton.layout.size + 31) // 32, np.uint32)
        self.automaton.memory.call(self.automaton.kernels.fill_mask, around, row)
        return row

    def behind_part(self, place: ReadingPlace) -> int:
        """The configuration of the grammar around behind the part of a place, or `arena.NONE`."""
        return self._after(place.around, self._closes[place.part])

    def behind(self, place: ReadingPlace) -> bytes | None:
        """The bytes that may come next where the part of a place has ended; None: another part may begin there."""
        key = place.around, place.part
        if key not in self._behind:
            after = self.behind_part(place)
            following = bytes(byte for byte in range(256) if self.around(after, byte) != arena.NONE)
            self._behind[key] = None if self._openings(after) else following
        return self._behind[key]

    # -- places --------------------------------------------------------------------------------------------------------

    def around(self, around: int, byte: int) -> int:
        """The configuration of the grammar with marks after a byte, or `arena.NONE`."""
        key = around << 8 | byte
        after = self._around.get(key)
        if after is None:
            after = self._around[key] = self._after(around, BYTES[byte])
        return after

    def _after(self, around: int, words: Int32) -> int:
        return self.automaton.memory.call(advance.advance_bytes, around, words) & advance.STATE

    def _openings(self, around: int) -> list[tuple[int, int]]:
        """(configuration behind the mark, part) of the parts that may begin at a configuration."""
        openings = self._opened.get(around)
        if openings is None:
            openings = []
            if self.around(around, MARK) != arena.NONE:
                after = ((self._after(around, words), part) for part, words in enumerate(self._opens))
                openings = [(around, part) for around, part in after if around != arena.NONE]
            self._opened[around] = openings
        return openings

    def _begun(self, place: ReadingPlace) -> list[ReadingPlace]:
        """The places at the beginnings of the parts that may begin at a place outside of all."""
        kept = dict(place.kept)
        return [
            ReadingPlace(around, part, self.readers[part].start(kept.get(part)), place.kept)
            for around, part in self._openings(place.around)
        ]

    def _with_left(self, places: Iterable[ReadingPlace], byte: int | None = None) -> list[ReadingPlace]:
        """Some places, and those where parts that may end were left. byte: what comes next; None: anything."""
        found = dict.fromkeys(places)
        queue = list(found)
        for place in queue:  # it grows
            if place.part == OUTSIDE:
                continue
            behind = None if byte is None else self.behind(place)
            for left in self._leave(place) if byte is None or behind is None or byte in behind else ():
                if left not in found:
                    found[left] = None
                    queue.append(left)
        return queue

    def _leave(self, place: ReadingPlace) -> list[ReadingPlace]:
        """The places behind the part of a place; none if it may not end."""
        left = self._left.get(place)
        if left is None:
            left = []
            if self.readers[place.part].may_end(place.inside):
                kept = self.readers[place.part].kept(place.inside)
                kept_by = {**dict(place.kept), place.part: kept} if kept is not None else dict(place.kept)
                outside = ReadingPlace(self.behind_part(place), kept=tuple(sorted(kept_by.items(), key=_part)))
                left = [outside, *self._begun(outside)]
            self._left[place] = left
        return left

    def _number(self, places: Iterable[ReadingPlace]) -> int:
        """The state of some places, and of those at the beginnings of parts; NO_STATE for none."""
        found = dict.fromkeys(places)
        for place in list(found):
            if place.part == OUTSIDE:
                found |= dict.fromkeys(self._begun(place))
        if len(found) > MAX_PLACES:
            raise LimitError(
                f"a text can be read in more than {MAX_PLACES} ways with respect to its parts",
                fix="let a text stand between parts that tells where one ends",
            )
        if not found:
            return NO_STATE
        key = frozenset(found)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.sets)
            self.sets.append(tuple(found))
        return number


def _part(kept: tuple[int, Hashable]) -> int:
    return kept[0]


def with_marks(grammar: Grammar, parts: dict[Constraint, int]) -> Grammar:
    """A grammar with two marks in the place of each part. parts: their numbers."""

    def marked(symbol: Symbol) -> Symbol:
        if isinstance(symbol, Terminal):
            return symbol
        if isinstance(symbol, PartSymbol):
            number = parts.get(symbol.constraint)
            if number is None:
                return symbol
            pair = [Terminal(bracket(number, opens)[0], f"mark of {symbol.name}") for opens in (True, False)]
            return Nonterminal(symbol.name, lambda: [pair], key=("marks", number))
        key = None if symbol.key is None else ("with marks", symbol.key, tuple(parts))
        if symbol not in made:
            made[symbol] = Nonterminal(symbol.name, lambda: expanded(symbol), key, symbol.right_recursive)
        return made[symbol]

    def expanded(symbol: Nonterminal) -> list[list[Symbol]]:
        return [[marked(one) for one in alternative] for alternative in symbol.expand()]

    made: dict[Nonterminal, Nonterminal] = {}
    start = marked(grammar.start)
    assert isinstance(start, Nonterminal)
    return Grammar(start)
