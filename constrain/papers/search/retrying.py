"""`Retrying`: a unit that a check refuses, a statement or a line, is taken back and written again.

Not measured: its distribution is held to enumeration.

Paper: Ugare et al. 2024, "IterGen: iterative semantic-aware structured LLM generation with backtracking" (arXiv
2410.07295), whose programs go back by a symbol of the grammar. Here a boundary says where units end
(core/boundaries.py).

Distribution: let q(u | x) be the distribution of masked decoding of the next unit after a text x, and a = Σ q(u | x)
over the units that the check accepts. A unit is the first of `tries` independent draws that is accepted, so

    P(u | x) = q(u | x) · (1 − (1 − a)^tries) / a        for units that are accepted,

and with probability (1 − a)^tries the output ends there as "budget", with the units before it. So units are those of
masked decoding given that the check accepts each of them, one after the other: not the model conditioned on texts
that pass, since what a unit leaves possible later has no say in it. Outputs carry no weights.

Cost: forward passes for what is kept, and for each draw that is taken back.
Limit: only the last unit is written again; where no continuation of an accepted unit passes, the output ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from constrain.errors import ConstrainError
from constrain.papers.search.cautious import taken, write_unit
from constrain.papers.search.found import each_row, text_of
from constrain.sampling.core.boundaries import boundary_of
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.sampler import Sampler, check_count


class Retrying(Sampler):
    """Masked decoding that writes a unit again which a check refuses; see `constrain.papers.search.retrying`.

    Args:
        check: from a text that ends with a whole unit, or is whole, to whether it may stand.
        boundary: where units end: "rule:NAME", "line", or what `SMC(boundary=...)` takes.
        tries: draws of a unit, at most; then the output ends as "budget".

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Ugare et al. 2024 (IterGen), arXiv 2410.07295, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers import Retrying
        >>> method = Retrying(lambda text: "9" not in text, boundary=lambda before, new: b"," in new)
        >>> g = constrain.generate(constrain.reference.load(), "", regex="[0-9](,[0-9]){3}", method=method, seed=1)
        >>> g.finish_reason, "9" in g.text
        ('stop', False)
    """

    name = "retrying"
    needs_chance = True
    distribution = "masked decoding, each unit given that the check accepts it"

    def __init__(
        self,
        check: Callable[[str], object],
        *,
        boundary: str | Callable[[bytes, bytes], bool] = "line",
        tries: int = 10,
    ) -> None:
        if not callable(check):
            raise ConstrainError(f"check= is a function of the text, not {check!r:.60}")
        self.check = check
        self.tries = check_count("tries", tries)
        self.boundary = boundary_of(boundary)

    def run(self, job: Job) -> list[Sample]:
        return each_row(job, self._write)

    def _write(self, job: Job, row: int) -> Sample:
        forwards = masks = units = back = 0
        block = Particles(job, [Particle(job, row)], forced=False)
        block.start()
        while block.live:
            kept = None
            for number in range(self.tries):
                trial = block.branch([0])
                (particle,) = trial.all
                particle.stream = substream(substream(job.streams[row], units), number)
                particle.logits = block.logits
                write_unit(trial, self.boundary)
                forwards += sum(trial.reads.values())
                masks += particle.sample.masks - block.live[0].sample.masks
                if self._accepts(job, particle):
                    kept = particle
                    break
                back += 1
            if kept is None:
                block.live[0].sample.finish_reason = "budget"
                break
            units += 1
            forwards += sum(block.reads.values())
            block = taken(block, kept)
        (particle,) = block.all
        sample = particle.sample
        sample.forwards, sample.masks = forwards + sum(block.reads.values()), masks
        sample.log_weight = 0.0 if sample.finish_reason == "stop" else -math.inf
        sample.method = f"{self.name}: {units} units, {back} taken back"
        return sample

    def _accepts(self, job: Job, particle: Particle) -> bool:
        """True if a unit is accepted. One that was cut off by the number of tokens is not judged."""
        if particle.ended and particle.sample.finish_reason != "stop":
            return particle.sample.finish_reason == "length"
        return bool(self.check(text_of(job, particle.sample.tokens).decode(errors="replace")))
