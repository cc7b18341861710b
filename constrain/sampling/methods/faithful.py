"""`faithful`: chooses a method for the problem at hand by what it costs, and says which.

Distribution: that of the method chosen, which each sample names with the reason (`Sample.method`). In this order:

    no constraint                               lcd     the model itself
    at most 32 prefixes for each output         exact   a look at all costs what few outputs do
    an attempt in `attempts` is a member        cars    exact, at the price of `lcd` where the first attempt is one
    at most `prefixes` prefixes                 exact   of what nothing was found in so far
    otherwise                                   sir     near the target; each sample drawn from N masked ones by weight,
                                                        and weighted itself. N grows with the spread of a pilot's
                                                        weights; where the N are worth less than 4, `Sample.method`
                                                        warns

Prefixes are counted with the matcher alone, before any forward. An attempt that fails ends at the token that fails, so
many cost little. A sample that was accepted is of the target whatever was rejected before it, and the others are drawn
anew, so the choice bends neither. The pilot is `pilot` masked draws for each prompt, which are thrown away: a
population that is kept for its weights would lack the heavy ones.

Weight: that of the method. Where some samples of a prompt are of `cars` and some of `sir`, those of `cars` have the
mean weight and evidence of these, so that each counts alike.

Cost: in forward passes of single sequences, an answer of L tokens takes less than L for each attempt, and L for each
masked draw; all share one pass for the prompt. Limit: the pilot may be wrong where few draws carry all the weight; that
changes N, not what the samples state. With a `memory`, `cars` gets cheaper from call to call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from constrain.sampling.core.ahead import reads_ahead
from constrain.sampling.core.draw import substream
from constrain.sampling.core.job import Job, Sample, total_work
from constrain.sampling.core.memory import Memory
from constrain.sampling.core.model import Extras, Session, extras_of
from constrain.sampling.core.particles import Stems, budget_of
from constrain.sampling.core.resampling import effective_size, log_mean
from constrain.sampling.core.sampler import Sampler, check_count, drive
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.exact import Exact
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.sir import SIR

CHEAP = 32  # prefixes for each output that are all read before anything is tried
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
        attempts: of `CARS` for each output, before it is drawn by another method; 0: none.
        pilot: masked draws of each prompt by which `SIR` chooses its number of draws, and that number at least.

    Raises:
        ConstrainError: an option is out of range.

    Example:
        >>> import constrain
        >>> from constrain.sampling import Faithful
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, '{"color": "', choices=["red", "green"], method=Faithful(pilot=8), seed=1)
        >>> g.stats.method.split(":")[0]
        'exact'
    """

    name = "faithful"
    needs_chance = True
    weighs = True
    grows = True
    distribution = "that of the method chosen, which stats.method names: exact, cars, sir, or lcd without a constraint"

    def __init__(
        self, *, memory: Memory | None = None, prefixes: int = 500, attempts: int = 16, pilot: int = 8
    ) -> None:
        self.memory = memory
        self.prefixes = check_count("prefixes", prefixes, 0)
        self.attempts = check_count("attempts", attempts, 0)
        self.pilot = check_count("pilot", pilot)

    def run(self, job: Job) -> list[Sample]:
        shaped(job)  # refuses temperature 0
        if job.matchers is None:
            return _named(drive(lcd, job), "lcd: there is no constraint")
        outputs: dict[int, Sample] = {}
        for group in job.groups():
            outputs.update(zip(group, self._choose(_kept(job, group[0]), group), strict=True))
        return [outputs[row] for row in range(len(job.prompts))]

    def _choose(self, job: Job, group: list[int]) -> list[Sample]:
        """Outputs of the rows of one target."""
        found = count_prefixes(job, group[0], self.prefixes)
        if found is not None and found <= CHEAP * len(group):
            return self._exact(job, group, found)
        tried = self._cars(job, group)
        missing = [place for place, each in enumerate(tried) if each.finish_reason == "budget"]
        if not missing:
            return tried
        rows = [group[place] for place in missing]
        drawn = self._sir(job, rows) if found is None else self._exact(job, rows, found)
        _level([each for each in tried if each.finish_reason == "stop"], drawn)
        for place, each in zip(missing, drawn, strict=True):
            each.add(tried[place])
            tried[place] = each
        return tried

    def _cars(self, job: Job, rows: list[int]) -> list[Sample]:
        """Members, or "budget" where no attempt was one."""
        if not self.attempts:
            return [Sample(finish_reason="budget", attempts=0) for _ in rows]
        samples = drive(CARS(memory=self.memory, attempts=self.attempts), job.part(rows))
        for each in samples:
            each.method = f"cars: {each.accepted} of {each.attempts} attempts are members"
        return samples

    def _exact(self, job: Job, rows: list[int], found: int) -> list[Sample]:
        return _named(drive(Exact(limit=max(1, found)), job.part(rows)), f"exact: the language has {found} prefixes")

    def _sir(self, job: Job, rows: list[int]) -> list[Sample]:
        streams = [substream(substream(job.streams[rows[0]], PILOTS), i) for i in range(self.pilot)]
        pilot = drive(lcd, shaped(job.part([rows[0]] * self.pilot, streams)))
        logs = [-math.inf if each.log_evidence is None else each.log_evidence for each in pilot]
        size = effective_size(logs)
        count = MOST if size == 0 else min(MOST, max(self.pilot, math.ceil(WORTH * self.pilot / size)))
        samples = drive(SIR(samples=count), job.part(rows))
        for sample in samples:
            sample.method = f"sir of {count}: the language has about {math.exp(log_mean(logs)):.2g} of the model's mass"
            worth = effective_size([each.log_weight for each in sample.population])
            if worth < DOUBTFUL:
                sample.method += f"; they are worth {worth:.1f} by their weights, so the law may be far away"
        samples[0].add(total_work(pilot))
        return samples


def _named(samples: list[Sample], method: str) -> list[Sample]:
    for sample in samples:
        sample.method = method
    return samples


def _level(accepted: Sequence[Sample], drawn: Sequence[Sample]) -> None:
    """Give samples of the target itself the mean evidence, and weight, of the samples drawn where attempts failed.

    Rows that succeeded say too much of the mass: the failures are not among them.
    """
    level = log_mean([-math.inf if each.log_evidence is None else each.log_evidence for each in drawn])
    for each in accepted if level > -math.inf else ():
        each.log_evidence = level
        each.log_weight = level if drawn[0].population else 0.0


def _kept(job: Job, row: int) -> Job:
    """The job of a row, whose prompt is read once by all methods that are tried; drafts read it with their own."""
    if job.grow is not None or reads_ahead(job.model):
        return job
    return replace(job, model=PromptKept(Stems(job.part([row]))))


class PromptKept(Extras):
    """A model that keeps what it has read of a prompt: sequences that begin so go on from there.

    stems: the one prompt, and the model that reads it.
    """

    def __init__(self, stems: Stems) -> None:
        self.stems, self.model = stems, stems.job.model
        self.width, self.context, self.ragged = self.model.width, self.model.context, self.model.ragged

    def product(self, job: Job, row: int, limit: int) -> Any:
        """That of the model."""
        return extras_of(self.model).product(replace(job, model=self.model), row, limit)

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        """Read prefixes; see `constrain.sampling.LanguageModel`."""
        [prompt] = self.stems.prompts
        rests = [list(prefix[len(prompt) :]) for prefix in prefixes]
        begins_so = all(list(prefix[: len(prompt)]) == prompt for prefix in prefixes)
        known = all(count <= len(rest) + 1 for count, rest in zip(keep, rests, strict=True))
        if not (begins_so and known and len(set(map(len, rests))) == 1):
            return self.model.start(prefixes, keep)
        session, logits = self.stems.fork([0] * len(prefixes))
        if not rests[0]:
            return session, logits
        fed = session.feed(rests, [min(count, len(rest)) for count, rest in zip(keep, rests, strict=True)])
        return session, [
            torch.cat([last, new]) if count > len(rest) else new
            for last, new, count, rest in zip(logits, fed, keep, rests, strict=True)
        ]


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
