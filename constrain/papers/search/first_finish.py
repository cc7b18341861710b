"""`FirstFinish`: of N masked samples the first to finish; the rest is broken off.

Measured on SmolLM2: 4.9 tokens in 26 forward passes, one sample 16.5 in 10, eight samples to their ends 102. Pays where
short outputs are wanted; whether they are the right ones was not asked (record 2026-11-29-papers).

Distribution: with q the distribution of masked decoding and F(t) = q(complete within t tokens, and accepted), the first
output is y of t tokens with probability

    P(y) = q(y) / (F(t) − F(t − 1)) · ((1 − F(t − 1))ᴺ − (1 − F(t))ᴺ)

exactly: the shortest of N, of equals the lowest number. With `accept`, outputs that it refuses do not finish. The n
outputs of a prompt are the first n to finish, from N samples in all: `generate(n=3, method=FirstFinish(samples=8))` and
`outputs.vote()` are short-3@8. N = 1 with `accept` draws one sample, and fails where it is refused.

Papers: first finish search (Agarwal et al. 2025, arXiv 2505.18149); a vote of the first to finish (Hassid et al. 2025,
"short-m@k", arXiv 2505.17813). They argue that short thoughts are the right ones more often; the distribution says what
it is: a preference for short texts. Weights are 0 in logs.
Cost: N sequences in one batch, until the last that is wanted is done. "First" is by tokens, EOS counted: it depends
neither on drafts nor on runs of forced tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from constrain.errors import ConstrainError
from constrain.papers.search.found import text_of
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.potentials import AskedPotential, Potential, predicate
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped


class FirstFinish(Sampler):
    """Of N masked samples the first to finish; see `constrain.papers.search.first_finish`.

    Args:
        samples: N, for each prompt, whatever the number of outputs; at least that number.
        accept: a check of complete texts: a function to bool, or a `Potential` of 0 and -inf. None: all count.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Agarwal et al. 2025, arXiv 2505.18149; Hassid et al. 2025, arXiv 2505.17813.

    Example:
        >>> import constrain
        >>> from constrain.papers.search.first_finish import FirstFinish
        >>> outputs = constrain.generate(
        ...     constrain.reference.load(), "A: ", regex="a{1,9}", method=FirstFinish(samples=8), n=3, seed=1
        ... )
        >>> [len(output.tokens) for output in outputs] == sorted(len(output.tokens) for output in outputs)
        True
    """

    name = "first-finish"
    needs_chance = True
    distribution = "the shortest of N samples of masked decoding, in tokens"

    def __init__(self, *, samples: int = 8, accept: Potential | Callable[[str], bool] | None = None) -> None:
        self.samples = check_count("samples", samples)
        self.accept = accept if accept is None or isinstance(accept, Potential) else predicate(accept)

    def run(self, job: Job) -> list[Sample]:
        job = shaped(job)
        if self.accept is not None and not job.token_bytes:
            raise ConstrainError("a check needs the bytes of tokens", fix="set Job.token_bytes")
        outputs: dict[int, Sample] = {}
        for rows in job.groups():
            if len(rows) > self.samples:
                raise ConstrainError(
                    f"{len(rows)} outputs cannot be the first of {self.samples} samples", fix="raise samples="
                )
            outputs.update(zip(rows, self._first(job, rows), strict=True))
        return [outputs[row] for row in range(len(job.prompts))]

    def _first(self, job: Job, rows: list[int]) -> list[Sample]:
        asked = None if self.accept is None else AskedPotential(self.accept)
        begun = [
            Particle(job, rows[0], substream(job.streams[rows[0]], number), note=number)
            for number in range(self.samples)
        ]
        cloud = Particles(job, begun)
        cloud.start()
        done: list[Particle] = []
        known: set[int] = set()
        while True:
            for each in cloud.all:
                if each.ended and each not in cloud.live and each.note not in known:
                    known.add(each.note)
                    if each.sample.finish_reason == "stop" and self._accepts(job, rows[0], asked, each):
                        done.append(each)
            done.sort(key=lambda each: (len(each.sample.tokens), each.note))
            last = len(done[len(rows) - 1].sample.tokens) if len(done) >= len(rows) else math.inf
            cloud.live = [each for each in cloud.live if len(each.sample.tokens) - each.ended < last]
            if not cloud.live:
                break
            cloud.take(cloud.step(cloud.member_masks()))
            cloud.forward()
        forwards, masks = sum(cloud.reads.values()), sum(each.sample.masks for each in cloud.all)
        outputs = [replace(each.sample, log_weight=0.0, accepted=1) for each in done[: len(rows)]]
        while len(outputs) < len(rows):
            outputs.append(Sample(log_weight=-math.inf, finish_reason="budget"))
        for output in outputs:
            output.forwards, output.masks, output.attempts = forwards, masks, self.samples
            output.evaluations = 0 if asked is None else asked.evaluations[rows[0]]
        return outputs

    def _accepts(self, job: Job, row: int, asked: AskedPotential | None, particle: Particle) -> bool:
        if asked is None:
            return True
        (value,) = asked.completes([text_of(job, particle.sample.tokens)], [row])
        return value > -math.inf
