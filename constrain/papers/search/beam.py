"""`beam`: the likeliest members that a search of fixed width finds.

Distribution: none is sampled. The rows of a prompt get its best member, its second best, and so on, as far as the beam
found them; nothing is drawn, and weights are 0 in logs. Where nothing that could have won was dropped for lack of
width, the result is proven, as that of `argmax`, and `tv_bound` is 0.

"Likeliest" is by p(x) of a token sequence, at the job's temperature (at 1 for temperature 0). A text that several token
sequences spell counts once, as the likeliest of them, unless `texts=False` asks for all. A prefix is at least as likely
as whatever follows, so prefixes that fall behind the members found are dropped without loss.

Cost: `width` sequences, one forward pass a token.
Limit: the likeliest text of a model is often a short or dull one; this is search, not sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch

from constrain.sampling.core.job import DraftCount, FinishReason, Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.exact import children

BestKind = TypeVar("BestKind", bound="Best")


class Beam(Sampler):
    """The likeliest members that a search of fixed width finds.

    The first output of a prompt is the best member found, the second the second best, and so on. Nothing is drawn; a
    result that is proven to be the best has `tv_bound` 0. See the module `constrain.papers.search.beam`.

    Args:
        width: prefixes that are kept at each position.
        texts: outputs of a prompt are different texts; False: different token sequences, which may spell the same.

    Raises:
        ConstrainError: the width is no int of at least 1.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Beam
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=Beam(width=4), seed=1)
        >>> g.text in ("red", "green")
        True
    """

    name = "beam"
    random = False
    distribution = "no distribution: the likeliest members that a beam finds"

    def __init__(self, *, width: int = 16, texts: bool = True) -> None:
        self.width, self.texts = check_count("width", width), texts

    def run(self, job: Job) -> list[Sample]:
        return likeliest_of_each_prompt(job, self._search, self.texts)

    def _search(self, job: Job, row: int, best: Best) -> None:
        block = Particles(job, [Particle(job, row)])
        block.start()
        best.offer_ended(block)
        while block.live:
            places, step = children(block)
            scores = best.scores(block, places, step.log_prob_raw)
            kept = (scores > best.threshold).nonzero().squeeze(1)
            order = kept[scores[kept].sort(descending=True, stable=True).indices]
            best.account(block)
            if len(order) > self.width:
                best.lost = max(best.lost, float(scores[order[self.width]]))
                order = order[: self.width]
            if not len(order):
                return
            block = block.branch(places[order].tolist())
            block.take(step.rows(order))
            block.forward()
            best.offer_ended(block)
        best.account(block)


class Best:
    """The best members so far for the rows of one prompt, and what the search has cost.

    count: how many are wanted. key: of a token sequence; of those with equal keys only the best counts. threshold: what
    an objective must exceed to matter. lost: the most that was dropped untried. proven: nothing better is left.
    """

    def __init__(self, count: int, key: Callable[[Sequence[int]], Hashable] = tuple) -> None:
        self.count, self.key = count, key
        self.members: list[tuple[float, Sample]] = []
        self.lost = -math.inf
        self.proven = False
        self.forwards = self.masks = 0
        self.drafts: dict[str, DraftCount] = {}

    @property
    def threshold(self) -> float:
        return self.members[-1][0] if len(self.members) == self.count else -math.inf

    def offer(self, objective: float, sample: Sample) -> None:
        """Consider a complete output. Ties go to the likelier."""
        best: dict[Hashable, tuple[float, Sample]] = {}
        every = [*self.members, (objective, sample)]
        for each in sorted(every, key=lambda m: (-m[0], -m[1].log_prob, m[1].tokens)):
            best.setdefault(self.key(each[1].tokens), each)
        self.members = list(best.values())[: self.count]

    def offer_ended(self, block: Particles) -> None:
        """Consider the members that a block has just completed, by their likelihood."""
        for each in block.all:
            if each.sample.finish_reason == "stop":
                self.offer(each.sample.log_prob, each.sample)

    def scores(self, block: Particles, places: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
        """float64[N]: log p of every child of the live sequences of a block."""
        before = [particle.sample.log_prob for particle in block.live]
        return torch.tensor(before, dtype=torch.float64)[places.cpu()] + raw.cpu().double()

    def account(self, block: Particles) -> None:
        """Add what the sequences of a block have cost since it was branched off."""
        self.forwards += sum(block.reads.values())
        self.masks += len(block.live)
        self.drafts = next((each.sample.drafts for each in block.all), self.drafts)  # of all blocks: forks share it

    def samples(self) -> list[Sample]:
        """One for each row: the members, in order, then failures."""
        outputs = [replace(member, log_weight=0.0, accepted=1) for _, member in self.members]
        reason: FinishReason = "dead_end" if self.proven else "budget"
        while len(outputs) < self.count:
            outputs.append(Sample(log_weight=-math.inf, finish_reason=reason))
        for sample in outputs:
            sample.tv_bound = 0.0 if self.proven else None
            sample.forwards, sample.masks, sample.drafts = self.forwards, self.masks, self.drafts
        return outputs


def likeliest_of_each_prompt(job: Job, search: Callable[[Job, int, Best], None], texts: bool) -> list[Sample]:
    """Run search(shaped job, first row, Best) for each distinct prompt; its rows get the likeliest members in order."""

    def prove(job: Job, row: int, best: Best) -> None:
        search(job, row, best)
        best.proven = best.lost <= best.threshold

    key = partial(spelled, job) if texts else tuple
    return best_of_each_prompt(shaped(at_some_temperature(job)), prove, lambda count: Best(count, key))


def best_of_each_prompt(
    job: Job, search: Callable[[Job, int, BestKind], None], begin: Callable[[int], BestKind]
) -> list[Sample]:
    """Run search(job, first row, begin(number of rows)) for each distinct prompt; its rows get the members in order."""
    outputs: dict[int, Sample] = {}
    for rows in job.groups():
        best = begin(len(rows))
        search(job, rows[0], best)
        outputs.update(zip(rows, best.samples(), strict=True))
        for row in rows:
            job.watcher.ended(row)
    return [outputs[row] for row in range(len(job.prompts))]


def at_some_temperature(job: Job) -> Job:
    """The job at temperature 1 in place of 0, where all likelihoods would be the same."""
    return replace(job, settings=replace(job.settings, temperature=job.settings.temperature or 1.0))


def spelled(job: Job, tokens: Sequence[int]) -> Hashable:
    """The text of a token sequence, in parts, with the ids of tokens that have no bytes between them.

    Which of several tokens ends it does not matter. Where the bytes of tokens are unknown: the sequence itself.
    """
    if not job.token_bytes:
        return tuple(tokens)
    parts: list[bytes | int] = [b""]
    for token in tokens:
        text = job.token_bytes[token]
        if token in job.eos_ids:
            continue
        if text is None:
            parts += [token, b""]
        else:
            parts[-1] += text  # type: ignore[operator]  # bytes are last, always
    return tuple(parts)
