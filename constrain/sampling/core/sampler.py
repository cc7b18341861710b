"""The base class of methods: an object that names its distribution, and turns a job into one sample a row.

A method with options is a class: `CARS(attempts=500)` can be passed to `generate(method=...)`, as can its name. The
options are checked when it is made. Cost and limits are those of the methods.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample


class Sampler:
    """Base of the methods that return whole samples; `lcd`, which streams, is a plain generator function.

    Attributes:
        name: as in `generate(method=...)`.
        distribution: of its samples, in one line.
        exact: the distribution of a complete sample is the target itself.
        random: it draws, so that another run may give another sample.
        weighs: its weights are of all of its samples, and count one that failed as 0: `generate` draws none anew.
        measures: it states what the model's own probabilities say, by weights or exactly: a model of 16 bits, whose
            probabilities of a text vary, is told, or loaded in float32; so of all that weigh or are exact.
        grows: sequences are completed by `Job.grow`, if there is one, so that a verifier may choose their tokens.
        ends_in_time: `generate` lets each sequence end within its limit by default (`complete`), as it does for "lcd".
        needs_chance: it samples, which temperature 0 does not; `generate` refuses the two together.
        memory, check, potential: what it was made with, if that is so.

    Example:
        >>> from constrain.sampling import Sampler
        >>> class Nothing(Sampler):
        ...     def run(self, job):
        ...         return []
        >>> Nothing().exact
        False
    """

    name: str = ""
    distribution: str = ""
    exact: bool = False
    random: bool = True
    weighs: bool = False
    grows: bool = False
    ends_in_time: bool = False
    needs_chance: bool = False
    measures: bool = False
    memory: Any = None
    check: Any = None
    potential: Any = None

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls.measures = cls.measures or cls.weighs or cls.exact

    def run(self, job: Job) -> list[Sample]:
        """One sample for each row of the job."""
        raise NotImplementedError

    def __call__(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """Run the sampler as a method (methods/table.py): tokens are final only at the end, so nothing is streamed."""
        return self.run(job)
        yield  # pragma: no cover (makes this a generator)


def traits_of(method: Any) -> Sampler:
    """The attributes of a method: itself, or those of the base class, under its name, for a plain function."""
    if isinstance(method, Sampler):
        return method
    plain = Sampler()
    plain.name = getattr(method, "__name__", type(method).__name__)
    return plain


def check_count(name: str, value: Any, least: int = 1, fix: str | None = None) -> int:
    """The value, or ConstrainError naming the option."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConstrainError(f"{name} must be an int of at least {least}, not {value!r}", fix=fix)
    return value


def check_share(name: str, value: Any) -> float:
    """A number in [0, 1], or ConstrainError naming the option."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ConstrainError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def log_add(values: list[float]) -> float:
    """log Σ exp, as exact as the largest value; -inf for none."""
    top = max(values, default=-math.inf)
    if not math.isfinite(top):
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def drive(method: Any, job: Job) -> list[Sample]:
    """The samples of a method; what it streams is not needed."""
    steps = method(job)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            samples: list[Sample] = stop.value
            return samples
