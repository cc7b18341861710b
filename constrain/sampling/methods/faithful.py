"""`faithful`: chooses a method for the problem at hand, and says which.

Distribution: that of the method chosen, which each sample names with the reason (`Sample.method`). In this order:

    no constraint                           lcd     the model itself
    at most `prefixes` prefixes             exact   counted with the matcher alone, before any forward
    the language has mass >= `mass`         cars    exact in about 1/mass attempts; the mass is estimated by a pilot
    otherwise                               sir     near the target; each sample drawn from N masked ones by weight,
                                                    and weighted itself. N grows with the spread of the pilot's weights;
                                                    where the N are worth less than 4, `Sample.method` warns

The pilot is `pilot` masked draws for each prompt, whose mean weight estimates the mass; the outputs are drawn anew, so
that the choice does not bend them. An output whose attempts are used up is drawn by `sir` after all.

Cost: the pilot, then that of the method. Limit: the pilot may be wrong where few draws carry all the weight; that
changes the method chosen, not what it states. With a `memory`, `cars` gets cheaper from call to call.
"""

from __future__ import annotations

import math

import numpy as np

from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.particles import budget_of
from constrain.sampling.core.resampling import effective_size
from constrain.sampling.core.sampler import Sampler, check_count, check_share, drive, log_add
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.exact import Exact
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.sir import SIR

WORTH = 8  # effective draws that `sir` should choose from
DOUBTFUL = 4  # effective draws below which the answer may be far from its distribution
MOST = 128  # draws that `sir` chooses from at most
PILOTS = (1 << 32) - 1  # the substream of a row that pilots draw from; no method counts so far


class Faithful(Sampler):
    """Chooses a method for the problem: exact where it can be, near the target where not.

    `stats.method` of an output names the method and the reason. The order of choice: see the module
    `constrain.sampling.methods.faithful`.

    Args:
        memory: for `CARS`; None: each call begins anew.
        prefixes: the most prefixes of a language for which `Exact` is chosen.
        mass: the least estimated mass of the language, in [0, 1], for which `CARS` is chosen.
        pilot: masked draws of each prompt that estimate the mass.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Faithful
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', regex="red|green", method=Faithful(pilot=8), seed=1)
        >>> g.stats.method.split(":")[0]
        'exact'
    """

    name = "faithful"
    needs_chance = True
    weighs = True
    grows = True
    distribution = "that of the method chosen, which stats.method names: exact, cars, sir, or lcd without a constraint"

    def __init__(
        self, *, memory: Memory | None = None, prefixes: int = 500, mass: float = 0.05, pilot: int = 16
    ) -> None:
        self.memory = memory
        self.prefixes = check_count("prefixes", prefixes, 0)
        self.mass = check_share("mass", mass)
        self.pilot = check_count("pilot", pilot)

    def run(self, job: Job) -> list[Sample]:
        shaped(job)  # refuses temperature 0
        if job.matchers is None:
            return _named(drive(lcd, job), "lcd: there is no constraint")
        outputs: dict[int, Sample] = {}
        for group in job.groups():
            outputs.update(zip(group, self._choose(job, group), strict=True))
        return [outputs[row] for row in range(len(job.prompts))]

    def _choose(self, job: Job, group: list[int]) -> list[Sample]:
        """Outputs of the rows of one target."""
        found = count_prefixes(job, group[0], self.prefixes)
        if found is not None:
            exact = Exact(limit=max(1, found))
            return _named(drive(exact, job.part(group)), f"exact: the language has {found} prefixes")
        streams = [substream(substream(job.streams[group[0]], PILOTS), i) for i in range(self.pilot)]
        pilot = drive(lcd, shaped(job.part([group[0]] * self.pilot, streams)))
        logs = [each.log_evidence if each.log_evidence is not None else -math.inf for each in pilot]
        log_mass = log_add(logs) - math.log(self.pilot)
        samples = self._outputs(job, group, logs, log_mass)
        samples[0].forwards += sum(each.forwards for each in pilot)
        samples[0].masks += sum(each.masks for each in pilot)
        samples[0].attempts += self.pilot
        samples[0].accepted += sum(each.accepted for each in pilot)
        return samples

    def _outputs(self, job: Job, group: list[int], logs: list[float], log_mass: float) -> list[Sample]:
        shown = f"the language has about {math.exp(log_mass):.2g} of the model's mass"
        samples: list[Sample | None] = [None] * len(group)
        if self.mass > 0 and log_mass >= math.log(self.mass):
            cars = CARS(memory=self.memory, attempts=math.ceil(10 / self.mass))
            found = _named(drive(cars, job.part(group)), f"cars: {shown}")
            samples = [each if each.finish_reason == "stop" else None for each in found]
        missing = [row for row, sample in zip(group, samples, strict=True) if sample is None]
        if missing:
            size = effective_size(logs)
            count = MOST if size == 0 else min(MOST, max(self.pilot, math.ceil(WORTH * self.pilot / size)))
            rest = iter(drive(SIR(samples=count), job.part(missing)))
            samples = [_weighed(next(rest), count, shown) if each is None else each for each in samples]
        return [each for each in samples if each is not None]


def _weighed(sample: Sample, count: int, shown: str) -> Sample:
    """Name the method, and say how far to trust it: what its samples are worth by their weights."""
    worth = effective_size([each.log_weight for each in sample.population])
    doubt = f"; they are worth {worth:.1f} by their weights, so the law may be far away" if worth < DOUBTFUL else ""
    sample.method = f"sir of {count}: {shown}{doubt}"
    return sample


def _named(samples: list[Sample], method: str) -> list[Sample]:
    for sample in samples:
        sample.method = method
    return samples


def count_prefixes(job: Job, row: int, limit: int) -> int | None:
    """Prefixes of the members that fit into a row's budget, EOS counted as a token; None if above `limit`.

    Cost: one mask a prefix; it stops at the first mask that allows too much.
    """
    assert job.matchers is not None
    bits = np.zeros((1, job.words), dtype=np.uint32)
    stack = [(job.matchers[row].fork(), budget_of(job, row))]
    count = 1
    while stack and count <= limit:
        matcher, left = stack.pop()
        if left <= 0:
            continue
        job.fill_masks([matcher], bits)
        allowed = np.flatnonzero(np.unpackbits(bits[0].view(np.uint8), bitorder="little")).tolist()
        count += len(allowed)
        if count > limit:
            break
        for token in allowed:
            if token not in job.eos_ids:
                fork = matcher.fork()
                fork.advance(token)
                stack.append((fork, left - 1))
    return count if count <= limit else None
