"""`Contrastive`: contrastive search. A likely token whose hidden state is unlike all those before.

Measured on the embedded model (lists of records): with α = 0.6 a share of 0.15 of the 4-grams is repeated, with 0.2
0.48, greedy 0.45. Pays against repetition (record 2026-11-23-engine).

Paper: Su et al. 2022, "A contrastive framework for neural text generation" (arXiv 2202.06417), section 3.2. Of the
`top` likeliest tokens the one is written with the greatest

    (1 − α) p(v) − α max_j cos(h_v, h_j)        h: what the model's head reads; j: places of the prompt and the output

Distribution: none is sampled. p is that of masked decoding; a token that the grammar leaves no choice about is taken as
it is. With α = 0 it is greedy decoding.

Cost: a forward pass a token, which reads the token before and the `top` candidates behind it as a tree; the prompt is
read twice. Memory: a hidden state for each place.
Limit: a model of transformers that reads trees and tells what its head reads; no drafts with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.papers.search.beam import at_some_temperature, best_of_each_prompt
from constrain.papers.search.found import BestTexts
from constrain.papers.search.lookahead import likeliest
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count, check_share
from constrain.sampling.core.shape import shape
from constrain.sampling.methods.exact import children


class Contrastive(Sampler):
    """Likely tokens whose hidden states are unlike those before; see `constrain.papers.search.contrastive`.

    Args:
        alpha: α, what likeness costs, in [0, 1].
        top: how many of the likeliest tokens are looked at.

    Raises:
        ConstrainError: an option is out of range; when it runs: a model that does not tell its hidden states.

    Source:
        Su et al. 2022, arXiv 2202.06417, section 3.2; their α is 0.6 and their `top` 4 to 8.

    Example:
        >>> import constrain
        >>> from constrain.papers import Contrastive
        >>> search = Contrastive(alpha=0.6, top=4)
        >>> constrain.generate(constrain.reference.load(), "A word: ", regex="[a-z]{3,9}", method=search).finish_reason
        'stop'
    """

    name = "contrastive"
    random = False
    distribution = "no distribution: likely tokens whose hidden states are unlike those before"

    def __init__(self, *, alpha: float = 0.6, top: int = 5) -> None:
        self.alpha, self.top = check_share("alpha", alpha), check_count("top", top)

    def run(self, job: Job) -> list[Sample]:
        job = at_some_temperature(job)
        return best_of_each_prompt(job, self._search, lambda count: BestTexts(job, count, self.name))

    def _search(self, job: Job, row: int, found: BestTexts) -> None:
        trees = _opened(job)
        particle = Particle(job, row)
        block = Particles(job, [particle], forced=False)
        block.live = [] if particle.ended else [particle]
        _, (logits,) = job.model.start([job.prompts[row]], [1])
        particle.logits = shape(logits, job.settings)
        unread = list(job.prompts[row])
        seen = torch.zeros((0, 0), dtype=torch.float64)  # directions of hidden states so far, [places, H]
        found.forwards += 1
        while not particle.ended:
            places, step = children(block)
            kept = likeliest(places, step, self.top)
            if not len(kept):
                break
            logits, hidden = _read(trees, unread, step.token[kept].tolist())
            own, candidates = hidden[: len(unread)], hidden[len(unread) :]
            seen = torch.cat([seen.reshape(-1, hidden.shape[1]), own])
            likeness = (candidates @ seen.T).max(1).values
            scores = (1 - self.alpha) * step.log_prob_sampled[kept].cpu().double().exp() - self.alpha * likeness
            best = int(scores.argmax())
            block.take(step.rows(kept[best : best + 1]))
            unread = particle.sample.tokens[-1:]
            particle.logits = shape(logits[len(logits) - len(kept) + best][None], job.settings)
            found.forwards += 1
        found.masks += particle.sample.masks
        if particle.sample.finish_reason == "stop":
            found.offer(particle.sample.log_prob, particle.sample)


def _opened(job: Job) -> Any:
    """A session that reads trees and tells hidden states. Raises ConstrainError."""
    model: Any = job.model
    trees = model.open(1) if getattr(model, "branching", False) else None
    if trees is None or not hasattr(trees, "keep_hidden"):
        raise ConstrainError(
            "contrastive search needs a model that reads trees and tells its hidden states",
            fix="use a model of transformers with plain attention, without draft=",
        )
    trees.keep_hidden = True
    return trees


def _read(trees: Any, unread: list[int], candidates: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Read tokens, and candidates behind them, which are forgotten again.

    Returns logits float[n, W] and directions of hidden states float64[n, H] at the tokens and then the candidates.
    """
    parents = np.full(len(candidates), -1, dtype=np.int32)
    (logits,) = trees.forward([unread], [len(unread)], [np.array(candidates, dtype=np.int32)], [parents])
    hidden = trees.hidden[0].cpu().double()
    trees.commit([[]])
    return logits, torch.nn.functional.normalize(hidden, dim=-1)
