"""Shared by searches: rewards of texts, valid texts in the order of an objective, one search for each prompt.

A reward is a `Potential`, or a plain function from a text to a number. A search says what it asks of it: `complete` of
finished texts, and `prefix` of open ones: a bound, an estimate or a value there. A plain function answers `complete`,
and, where a search looks at open texts, `prefix` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.job import DraftCount, Job, Sample
from constrain.sampling.core.particles import Particle, Particles
from constrain.sampling.core.potentials import AskedPotential, Potential
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.beam import spelled

Reward = Potential | Callable[[str], float]


class TextReward(Potential):
    """A function of a text as a potential. open_too: it is asked of open texts as well."""

    def __init__(self, function: Callable[[str], float], open_too: bool) -> None:
        self.function, self.open_too = function, open_too

    @property
    def steers(self) -> bool:
        return self.open_too

    def complete(self, text: bytes) -> float:
        return self.function(text.decode("utf-8", "replace"))

    def prefix(self, text: bytes) -> float:
        return self.complete(text) if self.open_too else 0.0

    def __repr__(self) -> str:
        return f"reward({getattr(self.function, '__name__', self.function)!s})"


def reward_of(name: str, value: Any, open_too: bool = False) -> Potential:
    """A potential as it is, a function as one. Raises ConstrainError naming the option."""
    if isinstance(value, Potential):
        return value
    if not callable(value) or isinstance(value, type):
        raise ConstrainError(f"{name} must be a function of a text or a Potential, not {value!r:.60}")
    return TextReward(value, open_too)


def check_number(name: str, value: Any, least: float = -math.inf) -> float:
    """A finite number of at least `least`, or ConstrainError naming the option."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or value < least:
        raise ConstrainError(
            f"{name} must be a number{'' if least == -math.inf else f' of at least {least:g}'}, not {value!r:.60}"
        )
    return float(value)


def text_of(job: Job, tokens: Sequence[int]) -> bytes:
    """The bytes of an output's tokens, without ends and other tokens that are no text."""
    return b"".join(job.token_bytes[token] or b"" for token in tokens if token not in job.eos_ids)


class BestTexts:
    """The best members so far for the rows of one prompt, each text once, and what the search has cost.

    count: how many are wanted. threshold: the least objective that counts, -inf while there are fewer.
    proven: nothing better is left.
    """

    def __init__(self, job: Job, count: int) -> None:
        self.count, self.key = count, partial(spelled, job)
        self.members: list[tuple[float, Sample]] = []
        self.proven = False
        self.forwards = self.masks = 0
        self.drafts: dict[str, DraftCount] = {}
        self.evaluations = 0
        self.said = ""

    @property
    def threshold(self) -> float:
        return self.members[-1][0] if len(self.members) == self.count else -math.inf

    def offer(self, objective: float, sample: Sample) -> None:
        """Consider a complete output. Of equal texts the better one counts; ties go to the likelier."""
        if objective == -math.inf:
            return
        best: dict[Hashable, tuple[float, Sample]] = {}
        every = [*self.members, (objective, sample)]
        for each in sorted(every, key=lambda m: (-m[0], -m[1].log_prob, m[1].tokens)):
            best.setdefault(self.key(each[1].tokens), each)
        self.members = list(best.values())[: self.count]

    def account(self, block: Particles) -> None:
        """Add what the sequences of a block have cost since it was branched off."""
        self.forwards += sum(block.reads.values())
        self.masks += len(block.live)
        self.drafts = next((each.sample.drafts for each in block.all), self.drafts)

    def samples(self, name: str) -> list[Sample]:
        """One for each row: the members, in order, then failures."""
        outputs = []
        for place in range(self.count):
            if place < len(self.members):
                objective, member = self.members[place]
                sample = replace(member, log_weight=0.0, accepted=1, tv_bound=0.0 if self.proven else None)
                sample.method = f"{name}: {self.said + ', ' if self.said else ''}objective {objective:.6g}"
            else:
                sample = Sample(log_weight=-math.inf, finish_reason="dead_end" if self.proven else "budget")
                sample.method = name
            sample.forwards, sample.masks, sample.drafts = self.forwards, self.masks, self.drafts
            sample.evaluations = self.evaluations
            outputs.append(sample)
        return outputs


def each_prompt(job: Job, name: str, search: Callable[[Job, int, BestTexts], None]) -> list[Sample]:
    """Run search(shaped job, first row, Found) for each distinct prompt; its rows get the members in order."""
    if not job.token_bytes and name != "diverse-beam":
        raise ConstrainError("this search reads texts, and the bytes of tokens are unknown", fix="set Job.token_bytes")
    settings = job.settings
    job = shaped(replace(job, settings=replace(settings, temperature=settings.temperature or 1.0)))
    outputs: dict[int, Sample] = {}
    for rows in job.groups():
        found = BestTexts(job, len(rows))
        search(job, rows[0], found)
        outputs.update(zip(rows, found.samples(name), strict=True))
        for row in rows:
            job.watcher.ended(row)
    return [outputs[row] for row in range(len(job.prompts))]


class Asking:
    """A reward in use for one prompt: open texts by `prefix`, complete outputs by `complete`."""

    def __init__(self, job: Job, row: int, reward: Potential, found: BestTexts) -> None:
        self.job, self.row, self.found = job, row, found
        self.asked = AskedPotential(reward)

    def prefixes(self, tokens: Sequence[Sequence[int]]) -> list[float]:
        """Of texts that go on."""
        values = self.asked.prefixes([text_of(self.job, each) for each in tokens], [self.row] * len(tokens))
        self.found.evaluations = self.asked.evaluations[self.row]
        return values

    def completes(self, tokens: Sequence[Sequence[int]]) -> list[float]:
        """Of complete outputs."""
        values = self.asked.completes([text_of(self.job, each) for each in tokens], [self.row] * len(tokens))
        self.found.evaluations = self.asked.evaluations[self.row]
        return values

    def either(self, particle: Particle) -> float:
        """Of a sequence as it stands: complete, open, or cut off at its budget (which counts as open)."""
        done = particle.sample.finish_reason == "stop"
        return (self.completes if done else self.prefixes)([particle.sample.tokens])[0]
