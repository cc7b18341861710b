"""`lcd`: locally constrained decoding, that is masked decoding.

Distribution: q(x) = Π_t p(x_t | x_<t) / Z_t over members x, where Z_t is the model's mass on the tokens allowed at t.
This is *not* the model conditioned on the constraint, π(x) = p(x) / Σ_members p: wherever the model would rather have
left the language, q is too generous to what remained.
Weight: w = Π_t Z_t = p(x) / q(x), forced tokens and EOS included. E_q[w f(x)] = Σ_members p(x) f(x) for every f — so
E[w] = Z, the mass of the language — and KL(q‖π) = log Z − E_q[log w]. With top-k or top-p, q is truncated too, w is
still p(x) / q(x), and the sums go over what q can reach.
At temperature 0 nothing is drawn: x is the greedy member, and w = Π_t Z_t (at temperature 1) is no weight.

An output that is cut at `max_tokens` (or at the model's context) is a prefix: its p, q and w are those of the prefix.
So E[w f(x)·1(stop)] = Σ p(x) f(x) over the members of at most `max_tokens` tokens. A dead end has w = 0.

Cost: one forward pass for every token that is not forced, see particles.py.
"""

from __future__ import annotations

import math
from collections.abc import Generator

from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles


def lcd(job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
    """Masked decoding of every row of a job: locally constrained decoding, the default method of `generate`.

    Distribution and weight: see the module `constrain.sampling.methods.lcd`.

    Args:
        job: the rows.

    Yields:
        (row, tokens that are final now), and returns one `Sample` for each row.

    Example:
        >>> import constrain
        >>> from constrain.sampling import lcd
        >>> constrain.generate(constrain.reference.load(), "A date: ", regex="19[0-9]{2}", method=lcd, seed=1).text[:2]
        '19'
    """
    particles = Particles(job, [Particle(job, row) for row in range(len(job.prompts))])
    yield from particles.start()
    while particles.live:
        yield from particles.take(particles.step(particles.masks()))
        yield from particles.forward()
    samples = [particle.sample for particle in particles.all]
    for sample in samples:
        sample.accepted = int(sample.finish_reason == "stop")
        sample.log_evidence = sample.log_weight if sample.accepted else -math.inf
    return samples
