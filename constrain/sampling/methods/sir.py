"""`sir`: sampling, importance resampling. N masked samples of which one is drawn by weight.

Each of N samples comes from masked decoding, x ~ q with w = p(x) / q(x) = Π_t Z_t (lcd.py; at the last place only EOS
is allowed), times exp Φ(x) under a potential; a sample that is cut off or dead has w = 0. One is drawn ∝ w.
Weight: log (Σ w / N), so E[exp(log_weight) · 1(x)] = p(x) · 1[x ∈ L, |x| ≤ T] · exp Φ(x) for every N.
Distribution: tends to the target as N grows (Rubin 1988; bias of order 1/N); N = 1 is `lcd`. Cost: N sequences in one
batch, the prompt read once; no particle dies for another, so it suits short outputs and weights that do not vary much —
`smc` is for the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample, TokenRecord, total_work
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.potentials import AskedPotential, Potential
from constrain.sampling.core.resampling import log_mean
from constrain.sampling.core.sampler import Sampler, check_count
from constrain.sampling.core.shape import shaped


class SIR(Sampler):
    """Sampling, importance resampling: N masked samples, of which one is drawn by its weight.

    The distribution tends to the target as N grows. Weight and distribution: see the module
    `constrain.sampling.methods.sir`.

    Args:
        samples: N, for each output.
        potential: a further weight of complete texts.

    Raises:
        ConstrainError: N is no int of at least 1, or what is no potential.

    Source:
        Rubin 1988, "Using the SIR algorithm to simulate posterior distributions".

    Example:
        >>> import constrain
        >>> from constrain.sampling import SIR
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=SIR(samples=4), seed=1)
        >>> len(g.population)
        4
    """

    name = "sir"
    needs_chance = True
    weighs = True
    grows = True
    distribution = "weighted; tends to p conditioned on the constraint (times the potential) as samples grow"

    def __init__(self, *, samples: int = 10, potential: Potential | None = None) -> None:
        self.samples = check_count("samples", samples)
        self.potential = potential
        if potential is not None:
            AskedPotential(potential)

    def run(self, job: Job) -> list[Sample]:
        """One sample a row, drawn from N, which are its `population`."""
        job = shaped(job)
        rows = range(len(job.prompts))
        begun = [DrawStart(row, substream(job.streams[row], j)) for row in rows for j in range(self.samples)]
        drawn = masked_draws(job, begun)
        asked = weigh(job, drawn, [each.row for each in begun], self.potential)
        outputs = []
        for row in rows:
            population = drawn[row * self.samples : (row + 1) * self.samples]
            outputs.append(self._pick(job, row, population, 0 if asked is None else asked.evaluations[row]))
        return outputs

    def _pick(self, job: Job, row: int, population: list[Sample], evaluations: int) -> Sample:
        weights = [sample.log_weight for sample in population]
        evidence = log_mean(weights)
        chosen = drawn_by_weight(job, population, substream(job.streams[row], self.samples))
        return replace(
            chosen,
            log_weight=evidence,
            log_evidence=evidence,
            population=population,
            **vars(total_work(population)) | {"evaluations": evaluations},
        )


def drawn_by_weight(job: Job, population: Sequence[Sample], stream: int) -> Sample:
    """One of some samples, by weight; where none has any, one that is unfinished, or a dead one."""
    weights = torch.tensor([sample.log_weight for sample in population], dtype=torch.float64)
    if weights.max() == -math.inf:
        return min(population, key=lambda sample: sample.finish_reason != "length")
    return population[int(job.draw(weights.softmax(0).unsqueeze(0), [stream]))]


@dataclass
class DrawStart:
    """The start of a masked draw: a row of the job, its stream, and the tokens (with their records) that it keeps."""

    row: int
    stream: int
    tokens: Sequence[int] = ()
    trace: Sequence[TokenRecord] = ()


def masked_draws(job: Job, begun: Sequence[DrawStart]) -> list[Sample]:
    """Masked decoding of many sequences in one batch; only what can still be a member that fits is allowed.

    log_weight: log p(x) / q(x), kept tokens included. The job must be `shaped`.
    """
    particles = [_particle(job, each) for each in begun]
    grown(job, particles)
    for particle in particles:
        cut_off(particle)
        particle.sample.accepted = int(particle.sample.log_weight > -math.inf)
    return [particle.sample for particle in particles]


def grown(job: Job, particles: Sequence[Particle], between: Callable[[Particles], None] | None = None) -> None:
    """Bring sequences to their end by masked decoding, each at its own pace: as `Job.grow` says, or token by token.

    between: is called after each forward pass, when all that was written is weighed; it may `select`
    """
    if job.grow is not None:
        return job.grow(job, particles, between)
    cloud = Particles(job, particles, together=False)
    cloud.start()
    read = True
    while True:
        if read and between is not None:
            between(cloud)
        if not cloud.live:
            return None
        cloud.take(cloud.step(cloud.member_masks()))
        read = not cloud.ready
        cloud.forward()


def cut_off(particle: Particle) -> None:
    """Take the weight of a sequence that had no room left."""
    if particle.sample.finish_reason == "dead_end" and particle.left == 1:
        particle.sample.finish_reason = "length"  # at the last place only EOS was allowed, and the text is open
    if particle.ended and particle.sample.finish_reason == "length":
        particle.sample.log_weight = -math.inf


def _particle(job: Job, begun: DrawStart) -> Particle:
    particle = Particle(job, begun.row, begun.stream)
    for record in begun.trace:
        particle.record(record, record.log_prob_raw - record.log_prob_sampled)
    for token in begun.tokens:
        if particle.matcher is not None:
            particle.matcher.advance(token)
        particle.append(token, False)
    return particle


def weigh(
    job: Job, samples: Sequence[Sample], rows: Sequence[int], potential: Potential | None
) -> AskedPotential | None:
    """Multiply exp Φ into the weights of complete samples; a sample that it rules out is no longer accepted."""
    if potential is None:
        return None
    if not job.token_bytes:
        raise ConstrainError("potentials need the bytes of tokens", fix="set Job.token_bytes")
    asked = AskedPotential(potential)
    whole = [(sample, row) for sample, row in zip(samples, rows, strict=True) if sample.log_weight > -math.inf]
    texts = [b"".join(job.token_bytes[token] or b"" for token in sample.tokens[:-1]) for sample, _ in whole]
    for (sample, _), weight in zip(whole, asked.completes(texts, [row for _, row in whole]), strict=True):
        sample.log_weight += weight
        if weight == -math.inf:
            sample.finish_reason, sample.accepted = "dead_end", 0
    return asked
