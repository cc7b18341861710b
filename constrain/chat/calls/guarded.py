"""Calls whose arguments' guards (repeated keys and items) veto token by token.

The idea: fixed texts and tokens stand around the arguments of each call, so the text tells where they begin and end
(guards/pieces.py). A special token has no bytes; the guard reads its mark (automata/marks.py), which no text has. Where
the text of a call alone could stand in content, the guard begins to read behind the trigger, which content cannot have.

Limit: a format whose calls are told apart only by a field before their arguments is not guarded, and arguments that are
no JSON are not: then the finished turn is checked.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from constrain.languages.automata.marks import mark
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Combined
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.guards import Guard
from constrain.languages.guards.pieces import GuardedPiece, GuardedPieces
from constrain.languages.guards.prefixed import AfterPrefix, Prefixed
from constrain.languages.guards.thoughts import Thoughts
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily

Edge = tuple[tuple[str, bool], ...]  # pieces: a text, or the name of a special token and True


class ArgumentsRegion(NamedTuple):
    """A region of a turn in which the arguments of a tool stand.

    Attributes:
        begin: The text before them; no other region begins so.
        content: Their language.
        ends: The texts after them, one of which follows.
    """

    begin: Edge
    content: Constraint
    ends: tuple[Edge, ...]


@dataclass(frozen=True, repr=False)
class GuardedCalls(Combined):
    """Turns with calls in known places.

    Attributes:
        regions: Where the arguments stand.
        trigger: What content cannot have, and calls begin with; (): regions do not stand in content either.
        alone: A call is the whole turn.
    """

    regions: tuple[ArgumentsRegion, ...] = field(kw_only=True)
    trigger: Edge = field(kw_only=True, default=())
    alone: bool = field(kw_only=True, default=False)

    @property
    def inlined(self) -> bool:
        return False

    @lazily
    def guarded(self) -> bool:
        """True if there is a guard."""
        return True

    @lazily
    def residual(self) -> bool:
        """True if a finished text counts only if it passes `residual_fault`."""
        return any(part.residual for part in self.members)

    def guard(self, vocabulary: Vocabulary) -> Guard:
        """The guard that follows the text into the arguments."""
        if self.outlined:
            return guard_apart(self, vocabulary)
        spelled = [
            (_spelled(region.begin, vocabulary), region.content.guard(vocabulary), region.ends)
            for region in self.regions
        ]
        if self.alone:
            return Prefixed([(begin, guard) for begin, guard, _ in spelled], vocabulary)
        pieces = []
        for begin, guard, ends in spelled:
            stop, *others = (_spelled(end, vocabulary) for end in ends)
            pieces.append(GuardedPiece(begin, guard, stop, tuple(others), True))
        inner: Guard = GuardedPieces(pieces, vocabulary)
        if self.trigger:
            inner = Thoughts(b"", _spelled(self.trigger, vocabulary), None, inner, vocabulary)
        has_tokens = any(is_token for edge in (self.trigger, *(r.begin for r in self.regions)) for _, is_token in edge)
        return ByMarks(inner, vocabulary) if has_tokens else inner


class ByMarks(AfterPrefix):
    """Passes a text on to another guard, and special tokens as their marks."""

    def __init__(self, guard: Guard, vocabulary: Vocabulary) -> None:
        super().__init__(guard)
        self.by_token = True
        self.tokens = vocabulary.tokens

    def step_token(self, state: Hashable, token: int, text: bytes) -> Hashable | None:
        return self.guard.step(state, mark(token) if self.tokens[token] is None else text)


def _spelled(edge: Edge, vocabulary: Vocabulary) -> bytes:
    """An edge as a guard reads it: tokens without bytes are their marks."""
    found = []
    for piece, is_token in edge:
        token = vocabulary.names.get(piece, -1) if is_token else -1
        found.append(mark(token) if token >= 0 and vocabulary.tokens[token] is None else piece.encode())
    return b"".join(found)
