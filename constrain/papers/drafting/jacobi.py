"""Jacobi drafts: what the target said behind the tokens that it refused is drafted next.

Measured: does not pay, 0.56 to 0.80 of the speed of `model.generate`, slower than no drafts (docs/speculative.md).
Draws on SmolLM2 (temperature 1, n = 2): 1.65 tokens a forward pass where guesses have 1.43 and no drafts 1.30, at 1.1
times the CPU time of no drafts (record 2026-11-28-papers).

The idea (Santilli et al. 2023, arXiv 2305.10427; the loop of Fu et al. 2024, arXiv 2402.02057): tokens are unknowns of
a system x[i] = f(x[1 … i-1]), and a forward pass over guesses of all of them is a step of Jacobi's iteration. Behind a
refused guess the logits are of a text that differs in one token, and what they name is often right all the same. So the
forward that refused a draft gives the next one, for nothing. In a tree the guesses behind the likeliest refused child
are kept, whoever drafted it. Where nothing was refused, the last token once more is the first guess, as theirs are
random; they need not be good.

Where a rule asks for draws, the criterion is that of speculative Jacobi decoding (Teng et al. 2024, arXiv 2410.01699):
the token of each position is drawn from what the last forward pass said there, under the mask, and that distribution is
stated, so that rules accept it with min(1, p_now / p_before) and draw what is left of p_now otherwise. Positions that
were not there yet are drawn from the last known distribution (theirs are random); what was not accepted is drawn anew,
as in their loop. The distribution of the output is that of masked decoding.

Of each position some tokens are kept, and the first that the constraint allows is drafted: a guess that is illegal
would end the draft, and with it the iteration. All of the window is read, however unlikely: the method lives by that.

Cost: `window` nodes a step. Limit: learns no more than the last step; the n-grams of lookahead decoding are what
`recycling` keeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from constrain.sampling.core.sampler import check_count
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget, Drafter, Outcome
from constrain.speculative.drafters.model import shaped_probs
from constrain.speculative.drafters.tables import likeliest
from constrain.speculative.drafters.tally import Tally
from constrain.speculative.tree import EMPTY, NONE, DraftTree, given_chain

FIRST = 0.2  # estimate of a guess before anything was seen
FADE = 0.98  # what an observation is worth after each later one


class Jacobi(Drafter):
    """Drafts what the last forward pass said behind refused tokens; see the module `constrain.papers.drafting.jacobi`.

    Args:
        window: tokens of a draft.

    Raises:
        ConstrainError: the window is no int of at least 1.

    Example:
        >>> import constrain
        >>> from constrain.papers import Jacobi
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, "A list: ", regex="(ha)+!", draft=Jacobi(), max_tokens=20, temperature=0)
        >>> g.stats.drafts["jacobi"].drafted > 0
        True
    """

    name = "jacobi"

    def __init__(self, *, window: int = 6) -> None:
        self.window = check_count("window", window)
        self._tally = Tally(FADE)  # by depth

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The guesses of the last forward pass, legal ones; the last of them again until the window is full."""
        setting = context.setting
        if setting.draws != "any" and setting.settings.temperature > 0:
            return self._drawn(context, budget)
        guesses: list[Sequence[int]] = context.memo.get(self, [])
        chain: list[int] = []
        matcher = context.matcher
        for depth in range(min(self.window, budget.depth, context.left - 1)):
            forced = () if matcher is None else matcher.forced_tokens()
            wanted = (guesses[depth] if depth < len(guesses) else ()) or (chain or context.tokens)[-1:]
            token, matcher = _first_legal(matcher, forced[:1] or wanted)
            if token == NONE or token in context.setting.eos_ids:
                break
            chain.append(token)
        context.memo[self, "drafted"] = chain
        if not chain:
            return EMPTY
        floor = math.log(budget.least) / len(chain) + 1e-9 if budget.least > 0 else -math.inf
        return given_chain(chain, [max(floor, math.log(self.estimate(depth))) for depth in range(len(chain))])

    def _drawn(self, context: Context, budget: DraftBudget) -> DraftTree:
        """A chain of draws from the distributions of the last forward pass, which are stated."""
        rows: list[torch.Tensor] = context.memo.get((self, "rows"), [])
        tokens, stated, matcher = [], [], context.matcher
        for depth in range(min(self.window, budget.depth, budget.nodes, context.left - 1) if rows else 0):
            probs = shaped_probs(context.setting, matcher, rows[min(depth, len(rows) - 1)])
            if probs is None:
                break
            token = int(context.setting.draw(probs.unsqueeze(0), [context.stream]))
            tokens.append(token)
            stated.append(probs)
            matcher = None if matcher is None else advanced(matcher, token)
            if token in context.setting.eos_ids or (matcher is None and context.matcher is not None):
                break
        if not tokens:
            return EMPTY
        chain = np.arange(len(tokens), dtype=np.int32)
        log_probs = np.log([float(probs[token]) for token, probs in zip(tokens, stated, strict=True)])
        ids = np.asarray(tokens, np.int32)
        return DraftTree(ids, chain - 1, np.minimum(log_probs, 0.0), chain, torch.stack(stated))

    def estimate(self, depth: int) -> float:
        """The chance that the guess at a depth is right where those before it were."""
        return self._tally.estimate(depth, FIRST)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Keep what was said behind the likeliest refused child of the last place, and count what was right."""
        for outcome in outcomes:
            for depth, (guess, token) in enumerate(
                zip(outcome.context.memo.pop((self, "drafted"), []), outcome.tokens, strict=False)
            ):
                self._tally.count(depth, guess == token)
                if guess != token:
                    break
            places, tops = refused(outcome), likeliest(outcome)
            # none where a token was forced
            outcome.context.memo[self] = [[token for token, _ in tops.get(place, [])] for place in places[1:]]
            if outcome.context.setting.draws != "any":
                rows = outcome.tree.logits_rows[places[1:] or places].tolist()
                outcome.context.memo[self, "rows"] = list(outcome.logits[rows].clone())


def _first_legal(matcher: Any, tokens: Sequence[int]) -> tuple[int, Any]:
    """The first token that is allowed, and the matcher after it; NONE if there is none."""
    for token in tokens:
        after = None if matcher is None else advanced(matcher, token)
        if matcher is None or after is not None:
            return token, after
    return NONE, None


def refused(outcome: Outcome) -> list[int]:
    """The end of what was taken, and the places behind the refused nodes that follow, always behind the likeliest."""
    tree = outcome.tree
    children = tree.children()
    place = outcome.path[-1] + 1 if outcome.path else 0
    found = [place]
    while read := [node for node in children[place] if tree.read[node]]:
        place = max(read, key=lambda node: float(tree.log_probs[node])) + 1
        found.append(place)
    return found
