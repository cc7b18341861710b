"""A followed rule as a region: it counts the tokens of its text, or asks for a temperature.

The idea: the grammar around reads the text too, so the region has no more to say than how many tokens had a byte of it.
A place is dropped where a rule would have more tokens than its budget, or cannot end with the tokens that are left.

Cost: some microseconds a token for each place; a search where a budget is nearly spent. Answers are remembered.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from constrain.errors import GrammarError, LimitError
from constrain.kernels.records import arena
from constrain.languages.automata.paths import Language, bytes_to_end
from constrain.languages.cfg.followed import FollowedRule, bracket, most_to_end
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.utf8 import FOLLOWING
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.regions.guard import Automata, RegionsGuard
from constrain.masks.engine.regions.places import AT_CHARACTERS, NO_SLACK, SLACK, RegionPlace, RegionPlaces, TextRegion

SEARCHED = 2000  # states in which the end of a rule is sought
TEXT = {*range(0xC0), *range(0xC2, 0xF5)}  # the bytes of UTF-8


class TokenCount(NamedTuple):
    """The tokens of a rule's text.

    Attributes:
        used: The tokens that it has had; 0 where it has no budget.
        counted: The token that is being read is one of them.
    """

    used: int = 0
    counted: bool = False


class FollowedRegion(TextRegion):
    """The region of a followed rule.

    Args:
        rule: The rule.
        vocabulary: The vocabulary of marked texts.

    Attributes:
        ends: Upper bounds of the bytes that end its text: (at the end of a character, anywhere).
        places: Those of the grammar that the rule stands in, once they are known.
    """

    def __init__(self, rule: FollowedRule, vocabulary: Vocabulary) -> None:
        self.rule = rule
        self.temperature = rule.temperature
        self.most = math.inf if rule.max_tokens is None else rule.max_tokens
        self.bounded = rule.max_tokens is not None
        self._bytes = {text[0] for text in vocabulary.tokens if text and len(text) == 1}
        self.ends = self._bounds()
        self.places: RegionPlaces
        self.forget()

    def forget(self) -> None:
        self._to_end: dict[int, float] = {}

    def _bounds(self) -> tuple[float, float]:
        if self.rule.body is None:
            return 0, 0
        if not self._bytes >= TEXT:
            return math.inf, math.inf
        rest = most_to_end(self.rule.body)[1]
        if rest == math.inf:
            ends = bytes_to_end(Language(self.rule.body), SEARCHED // 8) or {}
            rest = max(ends.values(), default=math.inf)
        return rest, rest + FOLLOWING

    def start(self, kept: Any = None) -> TokenCount:
        return TokenCount()

    def step(self, state: TokenCount, byte: int) -> TokenCount | None:
        if state.counted or not self.bounded:
            return state
        return TokenCount(state.used + 1, True) if state.used < self.most else None

    def settled(self, state: TokenCount, place: RegionPlace, depth: int) -> TokenCount | None:
        left = self.most - state.used
        ends = left >= self.ends[1] or state.used == 0 or self._can_end(place, depth, int(left))
        return TokenCount(state.used) if ends else None

    def slack(self, state: TokenCount) -> int:
        left = self.most - state.used - 1
        return SLACK if left >= self.ends[1] else AT_CHARACTERS if left >= self.ends[0] else NO_SLACK

    def key(self, state: TokenCount) -> None:
        """None: places differ in what is used alone."""

    def check(self, number: int) -> None:
        """Raise GrammarError if the rule cannot end within its budget. number: The region's own."""
        if self.rule.body is None or not self.bounded:
            return
        symbols = [Terminal(bracket(number, True)[0]), Terminal(self.rule.body), Terminal(bracket(number, False)[0])]
        alone = CompiledRules(Grammar(Nonterminal("start", lambda: [symbols])), -1)
        automaton = self.places.automaton

        def ends() -> bool:
            self.places.follow()
            opened = self.places.after(automaton.start(alone), self.places.marks[number, True])
            return self._can_end(RegionPlace(opened, ((number, TokenCount()),)), 0, int(self.most))

        if not automaton.attempt(ends):
            message = f"max_tokens={self.most} is too small: the rule has no text of so few tokens"
            raise GrammarError(message, place=self.rule.place, fix="raise it")

    # -- whether it can end --------------------------------------------------------------------------------------------

    def _can_end(self, place: RegionPlace, depth: int, left: int) -> bool:
        """True if the rule, which is open at a depth of a place, can end with the tokens that are left."""
        known = self._to_end.get(place.around)
        if known is None:
            known = self._bytes_to_end(place.around, place.opens[depth][0], left)
            if known <= left:
                self._to_end[place.around] = known
        return known <= left or self._ends_by_tokens(place, depth, left)

    def _bytes_to_end(self, around: int, number: int, most: int) -> float:
        """The single bytes from a configuration to one where the rule may end, breadth first; math.inf: more."""
        layer, seen = {around: None}, {around}
        for steps in range(most + 1):
            queue = list(layer)
            for one in queue:  # other marks are read, which may stand inside of the rule
                for at, opens, target in self.places.marks_at(one):
                    if at == number and not opens:
                        return steps
                    if at != number and target not in layer:
                        layer[target] = None
                        queue.append(target)
            targets = (self.places.around(one, byte) for one in layer for byte in self._bytes)
            layer = {target: None for target in targets if target != arena.NONE and target not in seen}
            seen |= layer.keys()
            if not layer or len(seen) > SEARCHED:
                break
        return math.inf

    def _ends_by_tokens(self, place: RegionPlace, depth: int, most: int) -> bool:
        """True if at most so many tokens end the rule; the last one may run over its end."""
        places, (number, state) = self.places, place.opens[depth]
        layer = {places.number([_between(place)])}
        seen: set[int] = set()
        for tokens in range(1, most + 1):
            has_all = number, state.used + tokens
            after: set[int] = set()
            for _, target in (each for state in layer for each in places.walk(state)):
                if any(_open_at(one, depth) != has_all for one in places.places(target)):
                    return True
                after.add(places.number(map(_between, places.sets[target])))
            layer = after - seen
            seen |= layer
            if len(seen) > SEARCHED:
                message = f"whether the rule can end within max_tokens={self.most} takes too long to find out"
                raise LimitError(message, place=self.rule.place, fix="raise max_tokens, or let the rule end earlier")
        return False


def _between(place: RegionPlace) -> RegionPlace:
    """A place between two tokens, whether or not its rules can end."""
    return place._replace(opens=tuple([(number, TokenCount(count.used)) for number, count in place.opens]))


def _open_at(place: RegionPlace, depth: int) -> tuple[int, int] | None:
    """(number, used tokens) of the rule that is open at a depth."""
    return (place.opens[depth][0], place.opens[depth][1].used) if len(place.opens) > depth else None


def guard_of_rules(constraint: Constraint, vocabulary: Vocabulary) -> RegionsGuard:
    """The guard of a constraint's followed rules; equal constraints share it.

    Raises:
        GrammarError: A rule cannot end within its budget, or the constraint mentions tokens that have text.
    """

    def make() -> RegionsGuard:
        automaton, rules = Automata.of(vocabulary).at(0), constraint.followed
        assert constraint.bracketed is not None
        regions = [FollowedRegion(rule, automaton.vocabulary) for rule in rules]
        beside = "max_tokens or temperature", rules[0].place
        guard = RegionsGuard(constraint, vocabulary, constraint.bracketed, regions, automaton, beside)
        for number, region in enumerate(regions):
            region.places = guard.places
            region.check(number)
        return guard

    return Automata.of(vocabulary).guard((constraint, "followed"), make)
