"""Prompt lookup: what followed the last time that the text ended like this.

The idea (Yang et al., "Inference with reference", 2023, arXiv 2304.04487; Saxena, "Prompt lookup decoding", 2023): find
the last few tokens earlier in the prompt, the output or the hints (the schema's own text), and copy on from there.
Under a constraint most of what a text repeats — keys, enum values, punctuation — can be copied, and what is illegal is
pruned.

Longer matches first, later occurrences first; different continuations become branches. How often a copy goes on is
counted by the length of the match, for its first token and for those after it, so that the builder can tell what is
worth a node: of matches of one token the first copied one is right one time in eight at temperature 1, what follows it
two times in three.
Cost: hashing each new token's n-grams once; a look-up for each length. Limit: copies tokens, not bytes: another
tokenisation of a text is not found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.tally import Tally
from constrain.speculative.tree import EMPTY, DraftTree, given_paths

Gram = tuple[int, ...]
Kind = tuple[int, bool, bool]  # tokens in common; not the best match; not the first token of the copy
FIRST = (0.15, 0.3, 0.45, 0.6)  # estimates before anything was seen: of first tokens, by length of the match
LATER = 0.7  # of the tokens after them
FADE = 0.99  # what an observation is worth after each later one


class Lookup(Drafter):
    """Drafts copies of what followed the last tokens before; see the module `constrain.speculative.drafters.lookup`.

    Args:
        longest: the most tokens that must agree.
        shortest: the fewest tokens that must agree.
        copies: different continuations to propose, at most.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> from constrain.speculative import Lookup
        >>> Lookup(longest=3).name
        'lookup'
    """

    name = "lookup"

    def __init__(self, *, longest: int = 4, shortest: int = 1, copies: int = 2) -> None:
        self.shortest = check_count("shortest", shortest)
        self.longest = check_count("longest", longest, self.shortest)
        self.copies = check_count("copies", copies)
        self._tally = Tally(FADE)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """Continuations after earlier occurrences of the last tokens."""
        index = context.memo.get(self)
        if index is None:
            index = context.memo[self] = CopyIndex(self.shortest, self.longest, self.copies)
            for hint in context.setting.hints:
                index.add_text(hint)
            index.begin()
        index.extend(context.tokens)
        index.tried = found = index.continuations(context.tokens, budget.depth)
        if not found:
            return EMPTY
        estimates = [
            [math.log(self.estimate((length, rank > 0, depth > 0))) for depth in range(len(path))]
            for rank, (length, path) in enumerate(found)
        ]
        return given_paths([path for _, path in found], estimates)

    def estimate(self, kind: Kind) -> float:
        """The chance that the text goes on with a token of a copy, where it went along so far."""
        length, _, later = kind
        return self._tally.estimate(kind, LATER if later else FIRST[min(length, len(FIRST)) - 1])

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Count how far each copy went along, whether or not it was read."""
        for outcome in outcomes:
            index = outcome.context.memo.get(self)
            if index is None:
                continue
            for rank, (length, path) in enumerate(index.tried):
                for depth, (copied, token) in enumerate(zip(path, outcome.tokens, strict=False)):
                    self._tally.count((length, rank > 0, depth > 0), copied == token)
                    if copied != token:
                        break
            index.tried = []


class CopyIndex:
    """The ends of each n-gram in the texts that were added: (text, position after it), the latest `copies` of them."""

    def __init__(self, shortest: int, longest: int, copies: int) -> None:
        self.lengths = range(longest, shortest - 1, -1)
        self.copies = copies
        self.texts: list[list[int]] = []
        self.ends: dict[Gram, list[tuple[int, int]]] = {}
        self.tried: list[tuple[int, list[int]]] = []  # the last continuations

    def add_text(self, tokens: Sequence[int]) -> None:
        self.begin()
        self.extend(tokens)

    def begin(self) -> None:
        self.texts.append([])

    def extend(self, tokens: Sequence[int]) -> None:
        """Take in what the last text, which these are the tokens of, has more than before."""
        text = self.texts[-1]
        for position in range(len(text), len(tokens)):
            for length in self.lengths:  # the n-grams that end before this token, so that something follows them
                if length <= position:
                    found = self.ends.setdefault(tuple(text[position - length : position]), [])
                    found.append((len(self.texts) - 1, position))
                    del found[: -self.copies]
            text.append(tokens[position])

    def continuations(self, tokens: Sequence[int], depth: int) -> list[tuple[int, list[int]]]:
        """Up to `copies` continuations that differ, best first; each with the length of its match."""
        found: list[tuple[int, list[int]]] = []
        for length in self.lengths:
            if length > len(tokens):
                continue
            for text, position in reversed(self.ends.get(tuple(tokens[len(tokens) - length :]), [])):
                path = self.texts[text][position : position + depth]
                if path and all(path != known for _, known in found):
                    found.append((length, path))
                if len(found) == self.copies:
                    return found
        return found
