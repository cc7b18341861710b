"""Two guards of one text: a monitor, followed rules or a bound of characters beside another one, or two monitors.

The idea: a state is the pair of theirs, and a token is vetoed if one of them vetoes it. What one of them looks ahead
for is looked for by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards import Before, Guard, GuardEnds
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.vocab.bits import Row

Pair = tuple[Hashable, Hashable]


class Product(Guard):
    """The guard of a text that two guards allow.

    Args:
        first: A guard, which may read values.
        second: Another one, which may know names, or a temperature.
    """

    def __init__(self, first: Guard, second: Guard) -> None:
        self.first, self.second = first, second
        self.always = first.always or second.always
        self.by_token = first.by_token or second.by_token
        self.ending = first.ending or second.ending

    def start(self) -> Pair:
        return self.first.start(), self.second.start()

    def step(self, state: Pair, text: bytes) -> Pair | None:
        return _pair(self.first.step(state[0], text), self.second.step(state[1], text))

    def step_token(self, state: Pair, token: int, text: bytes) -> Pair | None:
        return _pair(self.first.step_token(state[0], token, text), self.second.step_token(state[1], token, text))

    def veto(self, state: Pair, row: Row) -> None:
        self.first.veto(state[0], row)
        self.second.veto(state[1], row)

    def may_end(self, state: Pair) -> bool:
        return self.first.may_end(state[0]) and self.second.may_end(state[1])

    def temperature(self, state: Pair) -> float | None:
        return self.second.temperature(state[1])

    def reader(self, state: Pair) -> GuardedText | None:
        return self.first.reader(state[0])

    def owed(self, state: Pair) -> list[bytes]:
        return [*self.first.owed(state[0]), *self.second.owed(state[1])]

    def names(self, state: Pair) -> list[bytes]:
        return [*self.first.names(state[0]), *self.second.names(state[1])]

    def labels(self, state: Pair) -> NDArray[np.int64] | None:
        one, two = self.first.labels(state[0]), self.second.labels(state[1])
        return None if one is None or two is None else one * (two.max(initial=0) + 1) + two

    def ends(self, grammar: Any, may_end: Callable[[Any], bool] | None = None) -> ProductEnds | None:
        """The ends that the guards allow, as far as they have doubts. may_end: of the text; here it counts as True."""
        known = None if may_end is None else lambda state: True
        answers = [guard.ends(grammar, known) for guard in (self.first, self.second)]
        return None if answers == [None, None] else ProductEnds(answers)


class ProductEnds:
    """The `GuardEnds` of two guards. answers: theirs; None: a guard has none."""

    def __init__(self, answers: list[GuardEnds | None]) -> None:
        self._answers = answers

    def _each(self, state: Pair) -> list[tuple[GuardEnds, Hashable]]:
        """The answers that there are, with the guard's part of a state."""
        pairs = zip(self._answers, state, strict=True)
        return [(answers, inner) for answers, inner in pairs if answers is not None]

    def doubts(self, state: Pair) -> bool:
        """True if one of the guards has a doubt."""
        return any(answers.doubts(inner) for answers, inner in self._each(state))

    def dead(self, configuration: int, state: Pair, row: Row) -> list[int]:
        """The tokens of a mask behind which the grammar and one of the guards leave nothing."""
        each = [answers.dead(configuration, inner, row) for answers, inner in self._each(state)]
        return sorted(set().union(*each))

    def lives(self, configuration: int, state: Pair, before: Before | None = None) -> bool:
        """True if the grammar and each guard go on with a text. before: as of `GuardEnds`."""
        states = (None, None) if before is None else before.state
        return all(
            answers.lives(configuration, inner, before and before._replace(state=last))
            for answers, inner, last in zip(self._answers, state, states, strict=True)
            if answers is not None
        )


def _pair(one: Hashable | None, two: Hashable | None) -> Pair | None:
    return None if one is None or two is None else (one, two)
