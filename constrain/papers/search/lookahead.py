"""`Lookahead` (DeAL): each token by log p plus the reward of what the model would write after it.

Measured on SmolLM2 (eight one-line programs, the share of passed tests as the reward): 0.38 in 129 forward passes,
`Planned` 0.50 in 36. Does not pay there (record 2026-11-29-papers).

Distribution: none is sampled. At every position the `top` likeliest tokens of each prefix are continued by masked
greedy decoding for at most `ahead` tokens; a candidate counts log p(prefix, token) + weight · reward(continued text),
and the `width` best go on. That is the decoding-time alignment of Huang et al. 2024 (DeAL, arXiv 2402.06147, section
3), with the mask of the constraint as its hard part: a search over prefixes with an alignment heuristic.

With `ahead=0` the reward sees the prefix and the token alone; with `weight=0` it is a beam.
Cost: for every token `width` · `top` sequences of at most `ahead` tokens in one batch, and as many calls of the reward.
Limit: a reward that says nothing of open texts needs continuations that reach the end.
"""

from __future__ import annotations

import torch

from constrain.papers.search.found import Asking, BestTexts, Reward, check_number, each_prompt, reward_of
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.step import Step
from constrain.sampling.methods.exact import children


class Lookahead(Sampler):
    """Tokens by log p plus the reward of a greedy continuation; see `constrain.papers.search.lookahead`.

    Args:
        reward: of texts, complete by `complete` and open by `prefix`; a plain function answers both.
        weight: what the reward counts beside log p.
        ahead: tokens of a continuation, at most.
        top: the likeliest tokens of a prefix that are tried.
        width: prefixes that are kept at each position.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Huang et al. 2024, arXiv 2402.06147, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.lookahead import Lookahead
        >>> method = Lookahead(lambda text: text.count("b"), weight=30.0, ahead=2)
        >>> constrain.generate(constrain.reference.load(), "A: ", regex="[ab]{3}", method=method).text
        'bbb'
    """

    name = "lookahead"
    random = False
    distribution = "no distribution: tokens by log p and the reward of greedy continuations"

    def __init__(self, reward: Reward, *, weight: float = 1.0, ahead: int = 16, top: int = 4, width: int = 1) -> None:
        self.reward = reward_of("reward", reward, open_too=True)
        self.weight = check_number("weight", weight)
        self.ahead = check_count("ahead", ahead, 0)
        self.top, self.width = check_count("top", top), check_count("width", width)

    def run(self, job: Job) -> list[Sample]:
        return each_prompt(job, self.name, self._search)

    def _search(self, job: Job, row: int, found: BestTexts) -> None:
        asking = Asking(job, row, self.reward, found)
        block = Particles(job, [Particle(job, row)], forced=False)
        block.start()
        while block.live:
            places, step = children(block)
            kept = likeliest(places, step, self.top)
            if not len(kept):
                break
            parents = places[kept].tolist()
            before = [block.live[place].sample.log_prob for place in parents]
            ended = greedy_ends(block.branch(parents), step.rows(kept), self.ahead, found)
            raws = step.log_prob_raw[kept].tolist()
            scores = [
                log_p + raw + self.weight * asking.either(each)
                for log_p, raw, each in zip(before, raws, ended, strict=True)
            ]
            best = sorted(range(len(scores)), key=lambda at: -scores[at])[: self.width]
            found.account(block)
            rows = kept[best]
            block = block.branch(places[rows].tolist())
            block.take(step.rows(rows))
            block.forward()
            for each in block.all:
                if each.sample.finish_reason == "stop":
                    (reward,) = asking.completes([each.sample.tokens])
                    found.offer(each.sample.log_prob + self.weight * reward, each.sample)
        found.account(block)


def likeliest(places: torch.Tensor, step: Step, top: int) -> torch.Tensor:
    """int64[N]: the rows of the `top` likeliest tokens of every parent, parents in order."""
    order = step.log_prob_raw.sort(descending=True, stable=True).indices
    taken: dict[int, list[int]] = {}
    for row, place in zip(order.tolist(), places[order].tolist(), strict=True):
        if len(taken.setdefault(place, [])) < top:
            taken[place].append(row)
    return torch.tensor([row for place in sorted(taken) for row in taken[place]], dtype=torch.int64)


def greedy_ends(block: Particles, first: Step, ahead: int, found: BestTexts) -> list[Particle]:
    """Every sequence of a block after its first token and at most `ahead` more, each the likeliest that is allowed."""
    block.take(first)
    for _ in range(ahead):
        if not block.live or all(each.ended for each in block.live):
            break
        block.forward()
        if not block.live:
            break
        places, step = children(block)
        rows = likeliest(places, step, 1)
        alive = set(places[rows].tolist())
        for place, each in enumerate(block.live):
            if place not in alive:
                each.dead_end()
        if len(alive) < len(block.live):
            block.live = [each for each in block.live if not each.ended]
        if not block.live:
            break
        block.take(step.rows(rows))
    found.account(block)
    return block.all
