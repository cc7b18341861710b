"""All ways to read a text with regions, as sets of places.

The idea: the grammar has a mark where a region begins and one where it ends, which no text has (automata/marks.py). A
*place* is a configuration of that grammar, and the state of each region that is open. A mark is read wherever one is
possible: where the grammar begins a region, the region starts; where a region may end, it may be left. So a text has
several places, and a *state* is the set of them, as a number. States remember their steps. Whether a region may end is
asked only where the next byte may stand behind it: a monitor takes long to say.

Everything is called under the automaton's lock, and every number is forgotten when the automaton forgets its own.
Cost: some microseconds for each place and byte that is new.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.marks import MARK, mark
from constrain.languages.automata.memory import words_of
from constrain.languages.cfg.followed import bracket
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.parts import PartSymbol
from constrain.languages.vocab.bits import Row
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

MAX_PLACES = 1000  # of one text
MAX_STATES, MAX_STEPS = 50_000, 500_000  # that are remembered
NO_STATE = -1
BYTES = [words_of(bytes((byte,))) for byte in range(256)]
NO_SLACK, AT_CHARACTERS, SLACK = range(3)  # which tokens leave a region's end within reach: none, some, or all


class TextRegion:
    """A region of a text, and the base class of all. States are values; a region that begins is in `start()`.

    Attributes:
        apart: The region reads its text itself, and the grammar around it stands still. Else both read it.
        bounded: Not all texts that the grammar around leaves to it are its own.
        temperature: The temperature at which tokens are drawn in it; None: that of the text around.
    """

    apart = False
    bounded = True
    temperature: float | None = None

    def start(self, kept: Any = None) -> Hashable:
        """Give the state before the first byte. kept: What an earlier text has left; None: nothing."""
        raise NotImplementedError

    def step(self, state: Any, byte: int) -> Hashable | None:
        """Give the state after a byte; None: no text of the region goes on so."""
        raise NotImplementedError

    def settled(self, state: Any, place: RegionPlace, depth: int) -> Hashable | None:
        """Give the state between two tokens; None: no text goes on from it. place: The region is open at a depth."""
        return state

    def may_end(self, state: Any) -> bool:
        """True if the text of the region may end at a state, as far as the region has a say."""
        return True

    def kept(self, state: Any) -> Hashable:
        """Give what a text that may end leaves to the next one; None: nothing, each text is read by itself."""
        return None

    def mask(self, state: Any) -> tuple[Row, Row | None]:
        """Of a region apart, give the tokens that may come next inside, and the ones to be read byte by byte.

        Both are uint32[ceil(V / 32)]; None: none. Tokens that run over the end of the region are in neither.
        """
        raise NotImplementedError

    def slack(self, state: Any) -> int:
        """Tell if some text goes on for certain: SLACK after any token, AT_CHARACTERS if it ends a character."""
        return NO_SLACK

    def key(self, state: Any) -> Any:
        """States with equal keys have equal futures, but for what is used: the least one is kept."""
        return state

    def forget(self) -> None:
        """Forget what depends on the automaton's numbers."""


class RegionPlace(NamedTuple):
    """A place of a text, for one way to read it.

    Attributes:
        around: The configuration of the grammar with marks.
        opens: The regions that are open, from the outermost to the innermost: (number, state) each.
        kept: What texts of regions that share their names have left to the next ones: (number, state) each.
    """

    around: int
    opens: tuple[tuple[int, Any], ...] = ()
    kept: tuple[tuple[int, Hashable], ...] = ()


class RegionPlaces:
    """The states of the texts of one grammar with regions.

    Args:
        grammar: The grammar with marks.
        regions: The regions, in the order of their marks.
        automaton: The automaton of marked texts.

    Attributes:
        sets: The places of each state.
        counts: Some region counts tokens of a text that the grammar reads.
        cut: For each state, whether such a region has dropped a place, which the grammar goes on with.
        epoch: How often all numbers were forgotten.
        rules: The grammar with marks.
    """

    def __init__(self, grammar: Grammar, regions: Sequence[TextRegion], automaton: TokenAutomaton) -> None:
        self.automaton = automaton
        self.regions = regions
        marks = [(number, opens, *bracket(number, opens)) for number in range(len(regions)) for opens in (True, False)]
        automaton.layout.mention({node: ((token, token),) for _, _, node, token in marks})
        self.marks = {(number, opens): words_of(mark(token)) for number, opens, _, token in marks}
        self._seen = [(number, opens) for number, opens in self.marks if opens or not regions[number].apart]
        self.counts = not all(region.apart for region in regions)
        self._some_apart = any(region.apart for region in regions)  # PERF: mostly all are, or none
        self._least = min(region.slack(region.start()) for region in regions) if self.counts else NO_SLACK
        self.rules = CompiledRules(grammar, -1)
        self.epoch = self._known_epoch = -1
        self._forget()

    def _forget(self) -> None:
        """Forget everything that depends on the automaton's numbers."""
        self.epoch += 1
        self._known_epoch = self.automaton.epoch
        self.sets: list[tuple[RegionPlace, ...]] = []
        self.cut: list[bool] = []
        self._numbers: dict[tuple[frozenset[RegionPlace], bool], int] = {}
        self._after_byte: dict[int, int] = {}
        self._settled: dict[int, int] = {}
        self._slack: dict[int, int] = {}
        self._around: dict[int, int] = {}
        self._marks_at: dict[int, list[tuple[int, bool, int]]] = {}
        self._left: dict[RegionPlace, list[RegionPlace]] = {}
        self._behind: dict[tuple[int, int], bytes | None] = {}
        for region in self.regions:
            region.forget()

    def follow(self) -> None:
        """Forget what the automaton has forgotten. Called under its lock."""
        many = len(self.sets) > MAX_STATES or len(self._after_byte) > MAX_STEPS
        if many or self._known_epoch != self.automaton.epoch:
            self._forget()

    # -- states --------------------------------------------------------------------------------------------------------

    def first(self) -> int:
        """The state before the first byte."""
        return self.number([RegionPlace(self.automaton.start(self.rules))])

    def text(self, state: int, text: bytes) -> int:
        """The state after a token; NO_STATE: it cannot be read."""
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
            cut = self.cut[state]
            after: list[RegionPlace] = []
            for place in self._with_left(self.sets[state], byte):
                around = place.around if self._is_apart(place) else self.around(place.around, byte)
                if around == arena.NONE:
                    continue
                opens = tuple([(number, self.regions[number].step(inside, byte)) for number, inside in place.opens])
                if all(inside is not None for _, inside in opens):
                    after.append(RegionPlace(around, opens, place.kept))
                else:
                    cut = True
            known = self._after_byte[key] = self.number(after, cut)
        return known

    def settled(self, state: int) -> int:
        """A state between two tokens, without the places whose regions lead into a dead end."""
        if state == NO_STATE:
            return state
        known = self._settled.get(state)
        if known is None:
            places = self.sets[state]
            kept = [settled for place in places if (settled := self._settle(place)) is not None]
            is_cut = self.cut[state] or len(kept) < len(places)
            known = self._settled[state] = state if tuple(kept) == places else self.number(kept, is_cut)
        return known

    def _settle(self, place: RegionPlace) -> RegionPlace | None:
        opens = []
        for depth, (number, inside) in enumerate(place.opens):
            settled = self.regions[number].settled(inside, place, depth)
            if settled is None:
                return None
            opens.append((number, settled))
        return RegionPlace(place.around, tuple(opens), place.kept)

    def _is_apart(self, place: RegionPlace) -> bool:
        """True if the innermost region of a place reads its text itself."""
        return self._some_apart and bool(place.opens) and self.regions[place.opens[-1][0]].apart

    def accepts(self, state: int) -> bool:
        """True if the text may end."""
        call = self.automaton.memory.call
        return any(not place.opens and call(configurations.accepts, place.around) for place in self.places(state))

    def places(self, state: int) -> list[RegionPlace]:
        """The places of a state, and those where regions that may end were left."""
        return self._with_left(self.sets[state])

    def slack(self, state: int) -> int:
        """Tell if the tokens that the grammar allows are allowed for certain (`TextRegion.slack`)."""
        known = self._slack.get(state)
        if known is None:
            least = [self.regions[number].slack(inside) for place in self.sets[state] for number, inside in place.opens]
            known = self._slack[state] = NO_SLACK if self.cut[state] else min([self._least, *least])
        return known

    def number(self, places: Iterable[RegionPlace], cut: bool = False) -> int:
        """The state of some places, and of those at the beginnings of regions; NO_STATE for none."""
        found = dict.fromkeys(places)
        for place in list(found):
            if not self._is_apart(place) and self.marks_at(place.around):
                found |= dict.fromkeys(self._begun(place))
        if len(found) > MAX_PLACES:
            raise LimitError(
                f"a text can be read in more than {MAX_PLACES} ways with respect to its parts and followed rules",
                fix="let a text stand between parts that tells where one ends; make the grammar less ambiguous",
            )
        if not found:
            return NO_STATE
        members = self._fewest(found) if self.counts and len(found) > 1 else (*found,)
        key = frozenset(members), cut and self.counts
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.sets)
            self.sets.append(members)
            self.cut.append(key[1])
        return number

    def _fewest(self, places: Iterable[RegionPlace]) -> tuple[RegionPlace, ...]:
        """Of the places that differ in what their regions have used alone, the one that has used least."""
        best: dict[Hashable, RegionPlace] = {}
        for place in places:
            key = place.around, tuple([(each, self.regions[each].key(inside)) for each, inside in place.opens])
            if key not in best or place.opens < best[key].opens:
                best[key] = place
        return tuple(best.values())

    def walk(self, state: int, asked: NDArray[np.integer] | None = None) -> Iterator[tuple[int, int]]:
        """Read tokens along the trie: (token, state after its bytes) of each that can be read, of equal ones the first.

        asked: The nodes where the tokens end; None: all.
        """
        trie = TrieLists.of(self.automaton.vocabulary)
        wanted = np.zeros(len(trie.byte) + 1, np.int32)
        wanted[slice(1, None) if asked is None else asked + 1] = 1
        before = np.cumsum(wanted).tolist()  # asked nodes before each
        stack = [state] * (trie.depths + 1)
        node, last = 0, len(trie.byte)
        while node < last:
            if before[trie.end[node]] == before[node]:
                node = trie.end[node]
                continue
            after = self.byte(stack[trie.depth[node] - 1], trie.byte[node])
            if after == NO_STATE:
                node = trie.end[node]
                continue
            stack[trie.depth[node]] = after
            if before[node + 1] != before[node] and trie.token[node] >= 0:
                yield trie.token[node], after
            node += 1

    # -- the grammar around --------------------------------------------------------------------------------------------

    def outside(self, around: int) -> Row:
        """The tokens that may come next at a configuration, without a mark before them or inside."""
        row = np.zeros((self.automaton.layout.size + 31) // 32, np.uint32)
        self.automaton.memory.call(self.automaton.kernels.fill_mask, around, row)
        return row

    def around(self, around: int, byte: int) -> int:
        """The configuration of the grammar with marks after a byte, or `arena.NONE`."""
        key = around << 8 | byte
        after = self._around.get(key)
        if after is None:
            after = self._around[key] = self.after(around, BYTES[byte])
        return after

    def after(self, around: int, words: NDArray[np.int32]) -> int:
        """The configuration after bytes, or `arena.NONE`."""
        return self.automaton.memory.call(advance.advance_bytes, around, words) & advance.STATE

    def marks_at(self, around: int) -> list[tuple[int, bool, int]]:
        """The marks that may come next: (region, whether it begins, configuration behind the mark)."""
        marks = self._marks_at.get(around)
        if marks is None:
            marks = []
            if self.around(around, MARK) != arena.NONE:
                after = ((*key, self.after(around, self.marks[key])) for key in self._seen)
                marks = [each for each in after if each[2] != arena.NONE]
            self._marks_at[around] = marks
        return marks

    def behind_region(self, place: RegionPlace) -> int:
        """The configuration behind the innermost region of a place, or `arena.NONE`."""
        number = place.opens[-1][0]
        if self.regions[number].apart:
            return self.after(place.around, self.marks[number, False])
        ends = (after for each, opens, after in self.marks_at(place.around) if each == number and not opens)
        return next(ends, arena.NONE)

    def behind(self, place: RegionPlace) -> bytes | None:
        """The bytes that may stand behind the innermost region of a place, which is apart; None: a mark may, too."""
        key = place.around, place.opens[-1][0]
        if key not in self._behind:
            after = self.behind_region(place)
            following = bytes(byte for byte in range(256) if self.around(after, byte) != arena.NONE)
            self._behind[key] = None if self.marks_at(after) else following
        return self._behind[key]

    # -- places --------------------------------------------------------------------------------------------------------

    def _begun(self, place: RegionPlace) -> list[RegionPlace]:
        """The places at the beginnings of the regions that may begin at a place, and of those in them."""
        begun: list[RegionPlace] = []
        for number, opens, after in self.marks_at(place.around):
            if opens:
                start = self.regions[number].start(dict(place.kept).get(number))
                inner = RegionPlace(after, (*place.opens, (number, start)), place.kept)
                begun += [inner] if self.regions[number].apart else [inner, *self._begun(inner)]
        return begun

    def _with_left(self, places: Iterable[RegionPlace], byte: int | None = None) -> list[RegionPlace]:
        """Some places, and those where regions that may end were left. byte: what comes next; None: anything."""
        found = dict.fromkeys(places)
        queue = list(found)
        for place in queue:  # it grows
            if not place.opens:
                continue
            if self._is_apart(place):
                behind = None if byte is None else self.behind(place)
                may_leave = byte is None or behind is None or byte in behind
            else:
                may_leave = bool(self.marks_at(place.around))
            for left in self._leave(place) if may_leave else ():
                if left not in found:
                    found[left] = None
                    queue.append(left)
        return queue

    def _leave(self, place: RegionPlace) -> list[RegionPlace]:
        """The places behind the innermost region of a place; none if it may not end."""
        left = self._left.get(place)
        if left is None:
            left = []
            number, inside = place.opens[-1]
            behind = self.behind_region(place)
            if behind != arena.NONE and self.regions[number].may_end(inside):
                kept = self.regions[number].kept(inside)
                kept_by = place.kept
                if kept is not None:
                    kept_by = tuple(sorted({**dict(kept_by), number: kept}.items(), key=_number))
                outside = RegionPlace(behind, place.opens[:-1], kept_by)
                left = [outside, *self._begun(outside)]
            self._left[place] = left
        return left


def _number(kept: tuple[int, Hashable]) -> int:
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


class TrieLists(PerVocabulary):
    """The trie of a vocabulary as lists, whose items Python reads faster than those of arrays."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.byte, self.depth, self.end = trie.byte.tolist(), trie.depth.tolist(), trie.end.tolist()
        self.token, self.next_same = trie.token.tolist(), trie.next_same.tolist()
        self.depths = trie.max_depth
