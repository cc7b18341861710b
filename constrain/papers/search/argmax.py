"""`argmax`: the likeliest member of all, proven.

Distribution: none is sampled; see beam.py, of which this is the exact form. The rows of a prompt get the best member,
the second best, and so on, each text once; rows beyond the last member end as "dead_end".

The idea: best-first search. A prefix is at least as likely as whatever follows, so once the best open prefix is no
likelier than the members found, those are the best there are. Prefixes are opened a batch at a time, by likelihood.

Cost: about as many positions as there are prefixes likelier than the answer. For choices and other small languages:
all options in a few batched forward passes.
Limit: `limit` prefixes for a prompt; then the best so far is returned, `tv_bound` is None, and rows without a member
end as "budget".
"""

from __future__ import annotations

import heapq
import math
from itertools import count

import torch

from constrain.papers.search.beam import Best, likeliest_of_each_prompt
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.step import Step
from constrain.sampling.methods.exact import children


class Argmax(Sampler):
    """The likeliest valid texts, proven, by best-first search.

    The first output of a prompt is the best member, the second the second best, and so on. Nothing is drawn. Cost and
    limit: see the module `constrain.papers.search.argmax`.

    Args:
        limit: prefixes that are opened for a prompt, at most.
        batch: prefixes in one forward pass.
        texts: outputs of a prompt are different texts; False: different token sequences, which may spell the same.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Argmax
        >>> model = constrain.reference.load()
        >>> best = constrain.generate(model, '{"color": "', regex="red|green", method=Argmax(limit=100), n=2, seed=1)
        >>> best[0].logprob >= best[1].logprob
        True
    """

    name = "argmax"
    random = False
    distribution = "no distribution: the likeliest members, proven"

    def __init__(self, *, limit: int = 10_000, batch: int = 16, texts: bool = True) -> None:
        self.limit = check_count("limit", limit)
        self.batch = check_count("batch", batch)
        self.texts = texts

    def run(self, job: Job) -> list[Sample]:
        return likeliest_of_each_prompt(job, self._search, self.texts)

    def _search(self, job: Job, row: int, best: Best) -> None:
        frontier = Frontier(self.batch)

        def open_block(block: Particles) -> None:
            """Queue the children of a block by likelihood, a batch an entry."""
            best.offer_ended(block)
            best.account(block)
            if not block.live:
                return
            places, step = children(block)
            frontier.put(block, places, step, best.scores(block, places, step.log_prob_raw), best.threshold)

        first = Particles(job, [Particle(job, row)])
        first.start()
        open_block(first)
        opened = 0
        while frontier.best > best.threshold:
            if opened >= self.limit:
                best.lost = frontier.best
                return
            block = frontier.open()
            opened += len(block.all)
            open_block(block)


class Frontier:
    """Prefixes that wait to be opened, the best first, a batch an entry; of equals the older ones.

    Example:
        >>> Frontier(16).best
        -inf
    """

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self._numbers = count()
        self._queue: list[tuple[float, int, Particles, list[int], Step]] = []

    def put(self, block: Particles, places: torch.Tensor, step: Step, scores: torch.Tensor, threshold: float) -> None:
        """Queue children of a block: child i is token step.token[i] after sequence places[i], and is worth scores[i].

        Those up to the threshold are left out.
        """
        kept = (scores > threshold).nonzero().squeeze(1)
        order = kept[scores[kept].sort(descending=True, stable=True).indices]
        for start in range(0, len(order), self.batch):
            rows = order[start : start + self.batch]
            entry = (-float(scores[rows[0]]), next(self._numbers), block, places[rows].tolist(), step.rows(rows))
            heapq.heappush(self._queue, entry)

    @property
    def best(self) -> float:
        """The bound of the best prefix; -inf if none waits."""
        return -self._queue[0][0] if self._queue else -math.inf

    def open(self) -> Particles:
        """Take the best entry, and let the model read it."""
        _, _, parent, places, step = heapq.heappop(self._queue)
        block = parent.branch(places)
        block.take(step)
        block.forward()
        return block
