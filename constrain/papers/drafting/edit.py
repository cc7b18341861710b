"""`edit`: the output repeats a text that was given, but for a few changes: repairs, corrections, edits of code.

Pays at temperature 0: on repairs of JSON by SmolLM2 7.4 tokens a forward pass, 10.4 beside `"auto"`, 2.9 times as fast
as `model.generate`; at temperature 1 1.6 and 1.8 tokens and no gain (record 2026-11-29-papers).

The idea (input-guided aggressive decoding, IAD: Ge et al. 2022, arXiv 2205.10350; Sun et al. 2021, arXiv 2106.04970):
the source itself is the draft, from the place that the output has come to. Where the output leaves it, decoding goes on
alone until its last tokens stand in the source again, and from there the rest of the source is the draft.

Here the length of a draft is not fixed: how likely a copy is to go on is counted by how far it has held already, so a
copy that has held for a hundred tokens is drafted on for fifty, and a new one for a few (`Drafter.reach`).
Where the output has left the source, two guesses stand side by side: where its last tokens occur, longest matches
first and then the nearest behind the place that was left; and the source as if tokens had been replaced by as many.

Cost: a look at each occurrence of a token, where the output has left the source. Limit: tokens, not bytes; a part that
is moved is found again by its own tokens only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from constrain.errors import ConstrainError
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.tally import Tally
from constrain.speculative.tree import EMPTY, DraftTree, given_paths

REACH = 64  # tokens of a draft at most
MATCH = 8  # tokens by which places of the source are told apart
SURE = 8  # a source that was named is followed as if so many tokens had agreed
HOLDS = (0.3, 0.5, 0.7, 0.85, 0.93, 0.96, 0.98)  # chances before anything was seen, by `_held`
BELIEF = 8.0  # as how many observations they count
FADE = 0.995  # what an observation is worth after each later one


class Edit(Drafter):
    """Drafts the rest of a text that is being edited; see the module `constrain.papers.drafting.edit`.

    Args:
        source: the text, or its token ids; None: the prompt, in which the place is found as soon as the output repeats
            some of it.
        reach: tokens of a draft, at most.

    Raises:
        ConstrainError: the reach is no int of at least 1, or a text is given where there is no tokenizer.

    Example:
        >>> import constrain
        >>> from constrain.papers import Edit
        >>> model = constrain.reference.load()
        >>> text = '{"name": "Ann", "size": 3, "colour": "blue"}'
        >>> regex = r'\\{"name": "Ann", "size": [0-9], "colour": "(blue|green)"\\}'
        >>> g = constrain.generate(model, f"{text}\\n", regex=regex, draft=Edit(text), temperature=0)
        >>> g.stats.drafts["edit"].fault is None
        True
    """

    name = "edit"

    def __init__(self, source: str | Sequence[int] | None = None, *, reach: int = REACH) -> None:
        self.source = source
        self.reach = check_count("reach", reach)
        self._tally = Tally(FADE, BELIEF)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The rest of the source, from every place that the output may have come to."""
        place = context.memo.get(self)
        if place is None:
            place = context.memo[self] = self._begin(context)
        place.follow(context.tokens)
        most = min(self.reach, budget.depth)
        place.tried = [(held, path) for at, held in place.places() if (path := place.source[at : at + most])]
        if not place.tried:
            return EMPTY
        estimates = [
            [math.log(self.estimate(held + depth, rank > 0)) for depth in range(len(path))]
            for rank, (held, path) in enumerate(place.tried)
        ]
        return given_paths([path for _, path in place.tried], estimates)

    def _begin(self, context: Context) -> Alignment:
        """At the beginning of a source that was named; nowhere in a prompt."""
        if self.source is None:
            return Alignment(list(context.tokens[: context.prompt]), None, 0, context.prompt)
        source = self.source
        if isinstance(source, str):
            if context.setting.encode is None:
                raise ConstrainError("a text to edit cannot be tokenised here", fix="give its token ids")
            source = context.setting.encode(source.encode())
        return Alignment([int(token) for token in source], 0, SURE, context.prompt)

    def estimate(self, held: int, second: bool = False) -> float:
        """The chance that a copy goes on which has held for so many tokens. second: it is the less likely of two."""
        kind = _held(held), second
        return self._tally.estimate(kind, HOLDS[kind[0]] * (0.5 if second else 1.0))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Count how far each copy went along, whether or not it was read."""
        for outcome in outcomes:
            place: Alignment | None = outcome.context.memo.get(self)
            if place is None:
                continue
            for rank, (held, path) in enumerate(place.tried):
                for depth, (copied, token) in enumerate(zip(path, outcome.tokens, strict=False)):
                    self._tally.count((_held(held + depth), rank > 0), copied == token)
                    if copied != token:
                        break
            place.tried = []


def _held(tokens: int) -> int:
    """The index in `HOLDS` for a copy that has held for so many tokens: 0, 1, 2–3, 4–7, …"""
    return min(tokens.bit_length(), len(HOLDS) - 1)


@dataclass
class Alignment:
    """The position of an output in its source.

    at: the token of the source that comes next; None: unknown. held: how many tokens before it were copied.
    read: tokens of the text that are taken in. left: the place where the output left the source last. since: how many
    tokens ago.
    tried: the last copies, each with how far it had held.
    """

    source: list[int]
    at: int | None
    held: int
    read: int
    left: int = 0
    since: int = 0
    ends: dict[int, list[int]] = field(default_factory=dict)  # by token, the places behind it
    tried: list[tuple[int, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for place, token in enumerate(self.source, 1):
            self.ends.setdefault(token, []).append(place)

    def follow(self, tokens: Sequence[int]) -> None:
        """Take in what a text has more than before."""
        for position in range(self.read, len(tokens)):
            self.since += 1
            if self.at is not None and self.at < len(self.source) and self.source[self.at] == tokens[position]:
                self.at, self.held = self.at + 1, self.held + 1
                continue
            if self.at is not None and self.held > 1:  # one token in common is no copy yet
                self.left, self.since = self.at, 1
            self.at, self.held = self._found(tokens[max(0, position + 1 - MATCH) : position + 1])
        self.read = len(tokens)

    def _found(self, tail: Sequence[int]) -> tuple[int | None, int]:
        """The place behind the longest ending of the text, the nearest one from where it was left on; its length."""
        best: tuple[tuple[int, int], int | None, int] = ((0, 0), None, 0)
        for place in self.ends.get(tail[-1], ()):
            length = 1
            while length < min(len(tail), place) and self.source[place - 1 - length] == tail[-1 - length]:
                length += 1
            away = place - self.left if place >= self.left else len(self.source) + self.left - place
            best = max(best, ((length, -away), place, length))
        return best[1:]

    def places(self) -> list[tuple[int, int]]:
        """(place, how far a copy has held there), the likelier first."""
        found = [] if self.at is None else [(self.at, self.held)]
        behind = self.left + self.since  # as if tokens had been replaced by as many
        if self.held <= 1 and self.left > 0 and behind < len(self.source) and behind != self.at:
            found.append((behind, 0))
        return found
