"""Prompt lookup: what followed the last time that the text ended like this.

The idea (Yang et al., "Inference with reference", 2023, arXiv 2304.04487; Saxena, "Prompt lookup decoding", 2023): find
the last few tokens earlier in the prompt, the output or the hints (the schema's own text), and copy on from there.
Under a constraint most of what a text repeats — keys, enum values, punctuation — can be copied, and what is illegal is
pruned.

Longer matches first, later occurrences first; different continuations become branches. Cost: hashing each new token's
n-grams once; a look-up for each length. Limit: copies tokens, not bytes: another tokenisation of a text is not found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from constrain.sampling.sampler import check_count
from constrain.speculative.drafter import Budget, Context, Drafter
from constrain.speculative.tree import EMPTY, DraftTree, given_paths

Gram = tuple[int, ...]
DECAY = math.log(0.8)  # estimate of acceptance of each copied token


class Lookup(Drafter):
    """Copies from what the text has repeated; see the module."""

    name = "lookup"

    def __init__(self, *, longest: int = 4, shortest: int = 1, copies: int = 2) -> None:
        """Raises ConstrainError naming the option that is wrong.

        longest, shortest: tokens that must agree. copies: different continuations to propose at most
        """
        self.shortest = check_count("shortest", shortest)
        self.longest = check_count("longest", longest, self.shortest)
        self.copies = check_count("copies", copies)

    def draft(self, context: Context, budget: Budget) -> DraftTree:
        """Continuations after earlier occurrences of the last tokens."""
        index = context.memo.get(self)
        if index is None:
            index = context.memo[self] = _Index(self.shortest, self.longest, self.copies)
            for hint in context.setting.hints:
                index.add_text(hint)
            index.begin()
        index.extend(context.tokens)
        paths = index.continuations(context.tokens, budget.depth)
        return given_paths(paths, [DECAY] * budget.depth) if paths else EMPTY


class _Index:
    """Where each n-gram ended, in the texts that were added: (text, position after it), the latest `copies` of them."""

    def __init__(self, shortest: int, longest: int, copies: int) -> None:
        self.lengths = range(longest, shortest - 1, -1)
        self.copies = copies
        self.texts: list[list[int]] = []
        self.ends: dict[Gram, list[tuple[int, int]]] = {}

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

    def continuations(self, tokens: Sequence[int], depth: int) -> list[list[int]]:
        """Up to `copies` continuations that begin differently or go on differently, best first."""
        found: list[list[int]] = []
        for length in self.lengths:
            if length > len(tokens):
                continue
            for text, position in reversed(self.ends.get(tuple(tokens[len(tokens) - length :]), [])):
                path = self.texts[text][position : position + depth]
                if path and path not in found:
                    found.append(path)
                if len(found) == self.copies:
                    return found
        return found
