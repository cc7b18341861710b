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

import torch

from constrain.sampling.core.job import DraftCount, Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.exact import children


class Beam(Sampler):
    """The likeliest members that a search of fixed width finds.

    The first output of a prompt is the best member found, the second the second best, and so on. Nothing is drawn; a
    result that is proven to be the best has `tv_bound` 0. See the module `constrain.sampling.methods.beam`.

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
        return best_of_each_prompt(job, self._search, self.texts)

    def _search(self, job: Job, row: int, best: Best) -> None:
        block = Particles(job, [Particle(job, row)])
        block.start()
        best.offer(block)
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
            best.offer(block)
        best.account(block)


class Best:
    """The k likeliest members so far. threshold: what a prefix must exceed to matter. lost: the most that was dropped
    untried.

    key: of a token sequence; of those with equal keys only the likeliest counts
    """

    def __init__(self, count: int, key: Callable[[Sequence[int]], Hashable] = tuple) -> None:
        self.count, self.key = count, key
        self.found: list[Sample] = []
        self.lost = -math.inf
        self.forwards = self.masks = 0
        self.drafts: dict[str, DraftCount] = {}

    @property
    def threshold(self) -> float:
        return self.found[-1].log_prob if len(self.found) == self.count else -math.inf

    def offer(self, block: Particles) -> None:
        """Consider the members that a block has just completed."""
        done = [each.sample for each in block.all if each.sample.finish_reason == "stop"]
        best: dict[Hashable, Sample] = {}
        for sample in sorted([*self.found, *done], key=lambda sample: (-sample.log_prob, sample.tokens)):
            best.setdefault(self.key(sample.tokens), sample)
        self.found = list(best.values())[: self.count]

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
        """One for each row: the members found, in order, then failures."""
        proven = self.lost <= self.threshold
        outputs = []
        for place in range(self.count):
            if place < len(self.found):
                sample = replace(self.found[place], log_weight=0.0, accepted=1)
            else:
                sample = Sample(log_weight=-math.inf, finish_reason="dead_end" if proven else "budget")
            sample.tv_bound = 0.0 if proven else None
            sample.forwards, sample.masks, sample.drafts = self.forwards, self.masks, self.drafts
            outputs.append(sample)
        return outputs


def best_of_each_prompt(job: Job, search: Callable[[Job, int, Best], None], texts: bool) -> list[Sample]:
    """Run search(job, first row, Best) for each distinct prompt, and hand its members to the rows in order."""
    key = partial(spelled, job) if texts else tuple
    settings = job.settings
    job = shaped(replace(job, settings=replace(settings, temperature=settings.temperature or 1.0)))
    outputs: dict[int, Sample] = {}
    for rows in job.groups():
        best = Best(len(rows), key)
        search(job, rows[0], best)
        outputs.update(zip(rows, best.samples(), strict=True))
        for row in rows:
            job.watcher.ended(row)
    return [outputs[row] for row in range(len(job.prompts))]


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
