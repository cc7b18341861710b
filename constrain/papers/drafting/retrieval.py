"""Retrieval: what followed the last tokens in earlier outputs and in documents that were given.

Measured: pays where the store has texts alike, 2.58 tokens a forward pass beside `"auto"` after two other outputs of
the schema (docs/speculative.md); on short requests to SmolLM2 it finds nothing, 1.93 for 1.91 (record
2026-11-29-lossless).

The idea (REST: He et al. 2024, arXiv 2311.08252; SuffixDecoding: Oliaro et al. 2024, arXiv 2411.04975): the longest
ending of the text that occurs in a store is looked up; what followed it there, with how often it did, is a tree of
drafts. Likelier paths are read first, and what other drafters propose too is read once (RASD: Quan et al. 2025, arXiv
2503.03434, which also prunes by the probabilities of a draft model, as pruned.py does; here the constraint prunes, and
counts rank).

Cost: some binary searches for each token of the ending, about 10 µs each; as many for each node.
Limit: tokens, not bytes: another tokenisation of a text is not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constrain.papers.drafting.grow import Candidates, Growth, TreePlace, likeliest_paths
from constrain.papers.drafting.textstore import Occurrences, TextStore, counts, narrowed
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.tree import EMPTY, DraftTree

BELIEF = 0.5  # pseudo-count of a token that was never seen here


class Retrieval(Drafter):
    """Drafts what followed in a store of texts; see the module `constrain.papers.drafting.retrieval`.

    Args:
        store: The texts; a new, empty one by default.
        longest: the most tokens at the end of the text that are looked up.
        shortest: the fewest.
        width: children of a node, at most.
        learn: take in every output when it ends; under methods other than "lcd" outputs are not known here, and
            `TextStore.add` is for the caller.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.papers import Retrieval
        >>> model = constrain.reference.load()
        >>> draft = Retrieval()
        >>> first, again = (
        ...     constrain.generate(model, "A list: ", regex="[a-z]{9}", draft=draft, temperature=0) for _ in range(2)
        ... )
        >>> first.text == again.text, again.stats.forwards < first.stats.forwards
        (True, True)
    """

    name = "retrieval"

    def __init__(
        self,
        store: TextStore | None = None,
        *,
        longest: int = 8,
        shortest: int = 1,
        width: int = 4,
        learn: bool = True,
    ) -> None:
        self.store = TextStore() if store is None else store
        self.shortest = check_count("shortest", shortest)
        self.longest = check_count("longest", longest, self.shortest)
        self.width = check_count("width", width)
        self.learn = learn

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The likeliest paths after the longest ending that is known."""
        found = self.store.longest(context.tokens, self.longest, self.shortest)
        return likeliest_paths(_Walk(context, budget, found), self.width) if found else EMPTY

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Take in outputs that ended, each with the last tokens of its prompt."""
        for outcome in outcomes:
            context = outcome.context
            if self.learn and outcome.ended:
                self.store.add(context.tokens[max(0, context.prompt - self.longest) :])


class _Walk(Growth):
    """A tree that grows along a store. found: by node, where its path occurs."""

    def __init__(self, context: Context, budget: DraftBudget, found: list[Occurrences]) -> None:
        super().__init__(context, budget, lambda state, tail: (), 1)
        self.found = {self.start.node: found}

    def candidates(self, place: TreePlace) -> Candidates:
        """The token that the constraint forces, or else the tokens that followed in the store, by frequency."""
        forced = super().candidates(place)
        if forced:
            return forced
        following = counts(self.found[place.node])
        total = sum(count for _, count in following) + BELIEF
        return [(token, count / total) for token, count in following]

    def add(self, place: TreePlace, token: int, log_prob: float, matcher: Any) -> TreePlace:
        """A node, and where its path occurs."""
        grown = super().add(place, token, log_prob, matcher)
        self.found[grown.node] = narrowed(self.found[place.node], token)
        return grown
