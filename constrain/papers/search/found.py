"""Shared by searches: rewards of texts, valid texts in the order of an objective, one search for each prompt.

A reward is a `Potential`, or a plain function from a text to a number. A search says what it asks of it: `complete` of
finished texts, and `prefix` of open ones: a bound, an estimate or a value there. A plain function answers `complete`,
and, where a search looks at open texts, `prefix` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from constrain.errors import ConstrainError
from constrain.papers.search.beam import Best, at_some_temperature, best_of_each_prompt, spelled
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.particles import Particle
from constrain.sampling.core.potentials import AskedPotential, Potential
from constrain.sampling.core.shape import shaped

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


class BestTexts(Best):
    """The best members so far for the rows of one prompt, each text once. name: of the search; said: how it went."""

    def __init__(self, job: Job, count: int, name: str = "") -> None:
        super().__init__(count, partial(spelled, job))
        self.name, self.said, self.evaluations = name, "", 0

    def offer(self, objective: float, sample: Sample) -> None:
        """Consider a complete output. Of equal texts the better one counts."""
        if objective > -math.inf:
            super().offer(objective, sample)

    def samples(self) -> list[Sample]:
        """One for each row: the members, in order, then failures."""
        outputs = super().samples()
        for (objective, _), sample in zip(self.members, outputs, strict=False):
            sample.method = f"{self.name}: {self.said + ', ' if self.said else ''}objective {objective:.6g}"
        for sample in outputs[len(self.members) :]:
            sample.method, sample.tv_bound = self.name, None
        for sample in outputs:
            sample.evaluations = self.evaluations
        return outputs


def each_prompt(job: Job, name: str, search: Callable[[Job, int, BestTexts], None]) -> list[Sample]:
    """Run search(shaped job, first row, BestTexts) for each distinct prompt; its rows get the members in order."""
    if name != "diverse-beam":
        check_bytes(job)
    job = shaped(at_some_temperature(job))
    return best_of_each_prompt(job, search, lambda count: BestTexts(job, count, name))


def each_row(job: Job, write: Callable[[Job, int], Sample]) -> list[Sample]:
    """Run write(shaped job, row) for each row."""
    check_bytes(job)
    job = shaped(job)
    outputs = []
    for row in range(len(job.prompts)):
        outputs.append(write(job, row))
        job.watcher.ended(row)
    return outputs


def check_bytes(job: Job) -> None:
    """Raise ConstrainError if the bytes of tokens are not known."""
    if not job.token_bytes:
        raise ConstrainError("this search reads texts, and the bytes of tokens are unknown", fix="set Job.token_bytes")


class Asking:
    """A reward in use for one prompt: open texts by `prefix`, complete outputs by `complete`."""

    def __init__(self, job: Job, row: int, reward: Potential, found: BestTexts) -> None:
        self.job, self.row, self.found = job, row, found
        self.asked = AskedPotential(reward)

    def prefixes(self, tokens: Sequence[Sequence[int]]) -> list[float]:
        """The potentials of texts that go on."""
        values = self.asked.prefixes([text_of(self.job, each) for each in tokens], [self.row] * len(tokens))
        self.found.evaluations = self.asked.evaluations[self.row]
        return values

    def completes(self, tokens: Sequence[Sequence[int]]) -> list[float]:
        """The potentials of complete texts."""
        values = self.asked.completes([text_of(self.job, each) for each in tokens], [self.row] * len(tokens))
        self.found.evaluations = self.asked.evaluations[self.row]
        return values

    def either(self, particle: Particle) -> float:
        """Of a sequence as it stands: complete, open, or cut off at its budget (which counts as open)."""
        done = particle.sample.finish_reason == "stop"
        return (self.completes if done else self.prefixes)([particle.sample.tokens])[0]
