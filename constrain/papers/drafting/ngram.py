"""An n-gram model of the target, learned while it writes: the mean of the probabilities that it gave after a gram.

Measured on SmolLM2 in batches of 20: 2.10 tokens a forward pass, no drafts 1.91, at 1.4 times their CPU time: does not
pay there by itself (record 2026-11-29-lossless).

The idea: ADED (Liu et al., "Adaptive Draft-Verification", 2024, arXiv 2407.12021) drafts from tri-gram statistics of
what the target wrote; STAND (Song et al., "Accelerated Test-Time Scaling with Model-Free Speculative Sampling", 2025,
arXiv 2506.04708) keeps the target's probabilities instead of counts, and draws drafts from them. Here: the running mean
of the masked target's probabilities after the last three, two and one tokens, at every place that was read; the longest
gram that is known speaks.

Where the verifier asks how nodes were drawn, siblings are drawn without replacement (which is Gumbel-top-k) or
independently, and state their distribution; else, and at temperature 0, the likeliest paths are named.
Cost: see tables.py and grow.py; up to three entries a place. Limit: it draws from what it keeps only, 8 tokens a gram.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.papers.drafting.explore import explored
from constrain.papers.drafting.grow import Candidates, Growth, begins, drawn, named, tails
from constrain.sampling.core.sampler import check_count
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.tables import KEPT, DraftTable, likeliest
from constrain.speculative.tree import DraftTree

MEMORY = 8  # observations that a mean goes over: beyond, older ones fade


class NGramDrafter(Drafter):
    """Drafts from mean target probabilities by n-gram; see the module `constrain.papers.drafting.ngram`.

    Args:
        longest: tokens of the longest n-gram.
        width: siblings that are drawn at a place; given ones as the budget allows.
        walks: explore with so many simulated walks in place of best first, where nodes are named (explore.py).
        weight: of what was tried little, in walks.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> from constrain.papers import NGramDrafter
        >>> NGramDrafter(longest=2).name
        'ngram'
    """

    name = "ngram"

    def __init__(self, *, longest: int = 3, width: int = 2, walks: int = 0, weight: float = 1.0) -> None:
        self.longest = check_count("longest", longest)
        self.width = check_count("width", width)
        self.walks, self.weight = check_count("walks", walks, 0), weight
        self._grams: DraftTable[tuple[int, Candidates]] = DraftTable()  # gram → (observations, mean)

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """Drawn or named from the longest grams."""
        begins(context, self)

        def guess(state: int, tail: tuple[int, ...]) -> Candidates:
            for start in range(len(tail)):
                known = self._grams.get(tail[start:])
                if known is not None:
                    return known[1]
            return ()

        if context.setting.draws == "any" or context.setting.settings.temperature == 0:
            if self.walks:
                return explored(Growth(context, budget, guess, self.longest), self.walks, self.weight)
            return named(context, budget, guess, reach=self.longest)
        return drawn(context, budget, guess, reach=self.longest, width=self.width)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Take in the target's probabilities at every place that was read."""
        for outcome in outcomes:
            start = outcome.context.memo.get(self)
            if start is None:
                continue
            last = tails(outcome.tree, outcome.context.tokens[:start], self.longest)
            for place, tops in likeliest(outcome).items():
                for first in range(len(last[place])):
                    gram = last[place][first:]
                    self._grams.keep(gram, _mean(self._grams.get(gram), tops))


def _mean(known: tuple[int, Candidates] | None, seen: Candidates) -> tuple[int, Candidates]:
    """The running mean with one more observation, the likeliest first."""
    if known is None:
        return 1, seen
    count = min(known[0] + 1, MEMORY)
    mean = {token: chance * (1 - 1 / count) for token, chance in known[1]}
    for token, chance in seen:
        mean[token] = mean.get(token, 0.0) + chance / count
    return count, sorted(mean.items(), key=lambda each: -each[1])[:KEPT]
