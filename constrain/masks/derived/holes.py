"""Texts with holes: `Continuation`, texts that stand behind a prefix, and the stretches between holes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from constrain.errors import ConstrainError, span
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.rules import Grammar, Nonterminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import seq
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.guards import Guard
from constrain.languages.guards.prefixed import AfterPrefix
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily


@dataclass(frozen=True)
class Continuation(Constraint):
    """Texts that stand after a prefix in a member of `inner`; its guard reads the prefix first."""

    inner: Constraint
    prefix: str
    suffix: ClassVar[str] = ""  # the text that follows, as far as it is known

    @property
    def members(self) -> tuple[Constraint, ...]:
        return (self.inner,)

    @lazily
    def outlined(self) -> bool:
        return self.inner.outlined

    @lazily
    def monitored(self) -> bool:
        return self.inner.monitored

    @lazily
    def guarded(self) -> bool:
        return self.inner.guarded

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        apart = self.inner.monitored and self.inner.to_grammar().lexer == "greedy"  # rules take every way to cut a text
        guard = guard_apart(seq(self.inner), vocabulary) if apart else self.inner.guard(vocabulary)
        if guard is None or not self.prefix + self.suffix:
            return guard
        return AfterPrefix(guard, self.prefix.encode(), self.suffix.encode())

    def _watched(self, grammar: Grammar) -> Grammar:
        """A quotient of the inner grammar. Its rules do not know where they are watched, so all of the text is."""
        if not self.inner.guarded:
            return grammar
        return Grammar(Nonterminal("start", lambda: [[grammar.start]]), watched=True)


def split_holes(text: str | None, holes: Sequence[tuple[int, int]]) -> list[str]:
    """The text before the first hole, between any two, and after the last. Raises ConstrainError, with the place."""
    if not isinstance(text, str):
        raise ConstrainError(f"text is a str, not {type(text).__name__}: {text!r:.60}", fix="decode it")
    if not isinstance(holes, Sequence) or not holes:
        raise ConstrainError("a text with holes needs at least one", fix="holes=[(begin, end)]")
    pieces, at = [], 0
    for number, hole in enumerate(holes):
        if not (isinstance(hole, tuple | list) and len(hole) == 2 and all(type(end) is int for end in hole)):
            raise ConstrainError(f"hole {number} is a pair (begin, end), not {hole!r:.60}", fix="count in characters")
        begin, end = hole
        if not 0 <= begin <= end <= len(text):
            raise ConstrainError(
                f"hole {number}, {begin} to {end}, is no stretch of a text of {len(text)} characters",
                fix="0 <= begin <= end <= len(text)",
            )
        if begin < at:
            raise ConstrainError(
                f"hole {number} begins at {begin}, before the hole in front of it ends, at {at}",
                place=span(text, begin),
                fix="sort the holes, and join the ones that overlap",
            )
        if number and begin == at:
            raise ConstrainError(
                f"holes {number - 1} and {number} touch at {at}: nothing says where one ends",
                place=span(text, min(begin, len(text) - 1)) if text else None,
                fix="make one hole of both",
            )
        pieces.append(text[at:begin])
        at = end
    pieces.append(text[at:])
    for piece in pieces:
        if has_lone_surrogate(piece):
            raise ConstrainError(f"the text has a lone surrogate: {piece!r:.60}", fix="it is not text: remove it")
    return pieces
