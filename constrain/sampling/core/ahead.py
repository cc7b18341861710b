"""Logits that a forward pass has computed beyond the chosen tokens, for tokens that may be chosen next.

The idea: a method chooses tokens from logits, and does not care when those were computed. So a draft, a guess at what
follows, changes nothing but the number of forwards: where the token that was chosen is one that was guessed, its logits
are there already. That holds for every method, since whoever guesses has no part in the choice.

A model that reads ahead (`ReadsAhead`) is told whose tokens it reads, and answers with the logits and with an `Ahead`.
`Particles` asks it; `constrain.speculative.ahead` has one that drafts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch

from constrain.sampling.core.job import DraftCount, Settings
from constrain.sampling.core.model import LanguageModel, Session, extras_of


@dataclass(frozen=True, eq=False)
class Ahead:
    """A sequence's position in the tree of tokens that was read ahead of it; the root is the last token that was read.

    Attributes:
        kids: (place, token) → the place after that token; place 0 is the root.
        logits: float[P, W], of the next token at each place.
        place: where the sequence is.
        certain: nothing else could follow, so that the session has read all of it for good.
        counts: (by place, the count of its drafter), to note which drafted tokens were taken; None: nobody counts.
        taken: the places that some sequence went to.
    """

    kids: Mapping[tuple[int, int], int]
    logits: torch.Tensor
    place: int = 0
    certain: bool = False
    counts: Mapping[int, DraftCount] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    @property
    def here(self) -> torch.Tensor:
        """float[1, W]: the logits at its place."""
        return self.logits[self.place : self.place + 1]

    def after(self, token: int) -> Ahead | None:
        """One token on; None where that was not read."""
        place = self.kids.get((self.place, token))
        if place is None:
            return None
        if place not in self.taken and place in self.counts:
            self.counts[place].accepted += 1
        self.taken.add(place)
        return Ahead(self.kids, self.logits, place, self.certain, self.counts, self.taken)

    def shaped(self, logits: torch.Tensor) -> Ahead:
        """A copy with other logits."""
        return Ahead(self.kids, logits, self.place, self.certain, self.counts, self.taken)


def certain_chain(tokens: Sequence[int], logits: torch.Tensor) -> Ahead:
    """Tokens that alone are allowed, one after the other; logits: float[1 + len(tokens), W], the first before them."""
    return Ahead({(place, token): place + 1 for place, token in enumerate(tokens)}, logits, certain=True)


class ReadRow(NamedTuple):
    """The result for one row: logits float[keep, W], the tree read ahead, and the forward passes that it took."""

    logits: torch.Tensor
    ahead: Ahead | None = None
    forwards: int = 1


class AheadSession(Session, Protocol):
    """A session that reads ahead.

    Example:
        >>> import torch
        >>> from constrain.sampling.core.ahead import certain_chain
        >>> ahead = certain_chain([7, 8], torch.zeros(3, 9))
        >>> ahead.after(7).after(8).place, ahead.after(8)
        (2, None)
    """

    def read(
        self, rows: Sequence[int], chunks: Sequence[Sequence[int]], keep: Sequence[int], writers: Sequence[Any]
    ) -> list[ReadRow]:
        """Go on with these rows, as `select`, and append a chunk to each.

        chunks: they may begin with tokens that were read ahead. A row with keep 0 is not read: its chunk is noted
        writers: the `Particle` that speaks for each row, at the end of its chunk
        """


class ReadsAhead(LanguageModel, Protocol):
    """A model whose sessions read ahead; `reads_ahead` is how it says so.

    Example:
        >>> import constrain
        >>> from constrain.sampling.core.ahead import reads_ahead
        >>> reads_ahead(constrain.sampling.NGram([[0.5, 0.5], [0.5, 0.5]]))
        False
    """

    @property
    def reads_ahead(self) -> bool:
        """True if the model has `start_ahead`."""

    def start_ahead(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int], writers: Sequence[Any]
    ) -> tuple[AheadSession, list[ReadRow]]:
        """Begin as `start` does, with a session that reads ahead (`AheadSession.read`)."""

    def shaped(self, settings: Settings) -> ReadsAhead:
        """This model with the logits of p at these settings (shape.py)."""


def reads_ahead(model: LanguageModel) -> bool:
    """True if the sessions of a model read ahead."""
    return extras_of(model).reads_ahead
