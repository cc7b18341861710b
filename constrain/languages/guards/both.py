"""Two guards of one text: a monitor beside a schema's guard, or beside another monitor.

The idea: a state is the pair of theirs, and a token is vetoed if one of them vetoes it. What one of them looks ahead
for is looked for by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, cast

from constrain.languages.guards import Guard, GuardEnds
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.vocab.bits import Row
from constrain.languages.vocab.vocabulary import Vocabulary

Pair = tuple[Hashable, Hashable]


class Both:
    """A `TokenGuard` and an `EndingGuard` of two guards.

    Args:
        first: A guard, which may read values.
        second: Another one, which reads bytes and may have doubts.
        vocabulary: The vocabulary.

    Attributes:
        always: As of `Guard`.
    """

    def __init__(self, first: Guard, second: Guard, vocabulary: Vocabulary) -> None:
        self.first: Any = first
        self.second: Any = second
        self.always = first.always or second.always
        self._by_token = [hasattr(guard, "step_token") for guard in (first, second)]
        self._tokens = vocabulary.tokens
        self.endings = [hasattr(guard, "may_end") for guard in (first, second)]

    def start(self) -> Pair:
        """The state before the first byte."""
        return self.first.start(), self.second.start()

    def step(self, state: Hashable, text: bytes) -> Pair | None:
        """The state after more text; None: one of them vetoes it."""
        one, two = cast(Pair, state)
        return _pair(self.first.step(one, text), self.second.step(two, text))

    def step_token(self, state: Hashable, token: int) -> Pair | None:
        """The state after a token; None: one of them vetoes it."""
        text = self._tokens[token] or b""
        one, two = cast(Pair, state)
        first, second = self._by_token
        return _pair(
            self.first.step_token(one, token) if first else self.first.step(one, text),
            self.second.step_token(two, token) if second else self.second.step(two, text),
        )

    def veto(self, state: Hashable, row: Row) -> None:
        """Clear the bits of the tokens that one of them vetoes."""
        one, two = cast(Pair, state)
        self.first.veto(one, row)
        self.second.veto(two, row)

    def reader(self, state: Hashable) -> GuardedText | None:
        """The JSON text under way, which the first reads."""
        reading: GuardedText | None = self.first.reader(cast(Pair, state)[0])
        return reading

    def may_end(self, state: Hashable) -> bool:
        """True if none of them objects to the end of the text."""
        guards = zip((self.first, self.second), cast(Pair, state), self.endings, strict=True)
        return all(not ending or guard.may_end(inner) for guard, inner, ending in guards)

    def temperature(self, state: Hashable) -> float | None:
        """The temperature that the second one asks for."""
        temperature: float | None = self.second.temperature(cast(Pair, state)[1])
        return temperature

    def owed(self, state: Hashable) -> list[bytes]:
        """Texts that settle what a text owes, of the second one."""
        owed: list[bytes] = self.second.owed(cast(Pair, state)[1]) if hasattr(self.second, "owed") else []
        return owed

    def names(self, state: Hashable) -> list[bytes]:
        """The rests of the names that the second one allows."""
        names: list[bytes] = self.second.names(cast(Pair, state)[1]) if hasattr(self.second, "names") else []
        return names

    def ends(self, grammar: Any, may_end: Callable[[Hashable], bool] | None = None) -> BothEnds:
        """The ends that the guards allow, as far as they have doubts. may_end: of the text; here it counts as True."""
        known = () if may_end is None else (lambda state: True,)
        doubting = [hasattr(guard, "ends") for guard in (self.first, self.second)]
        guards = zip((self.first, self.second), doubting, strict=True)
        return BothEnds([guard.ends(grammar, *known) if doubts else None for guard, doubts in guards])


class BothEnds:
    """The `GuardEnds` of two guards. answers: theirs; None: a guard has none."""

    def __init__(self, answers: list[GuardEnds | None]) -> None:
        self._answers = answers

    def _each(self, state: Hashable) -> list[tuple[GuardEnds, Hashable]]:
        """The answers that there are, with the guard's part of a state."""
        pairs = zip(self._answers, cast(Pair, state), strict=True)
        return [(answers, inner) for answers, inner in pairs if answers is not None]

    def doubts(self, state: Hashable) -> bool:
        """True if one of the guards has a doubt."""
        return any(answers.doubts(inner) for answers, inner in self._each(state))

    def dead(self, configuration: int, state: Hashable, row: Row) -> list[int]:
        """The tokens of a mask behind which the grammar and one of the guards leave nothing."""
        each = [answers.dead(configuration, inner, row) for answers, inner in self._each(state)]
        return sorted(set().union(*each))

    def lives(self, configuration: int, state: Hashable) -> bool:
        """True if the grammar and each guard go on with a text."""
        return all(answers.lives(configuration, inner) for answers, inner in self._each(state))


def _pair(one: Hashable | None, two: Hashable | None) -> Pair | None:
    return None if one is None or two is None else (one, two)
