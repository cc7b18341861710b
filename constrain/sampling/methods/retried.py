"""`Retried`: a method, and how often an output that fails the last check is thrown away and sampled anew.

Masks enforce a grammar. What is only known of a finished text, such as the validator of a pydantic model, may refuse an
output; then `generate` samples it again. Throwing away conditions the distribution on passing: the weights of outputs
keep their ratios, and `log_evidence` is None. So a method whose weights count what failed as 0 (`Sampler.weighs`) is
retried only if it is asked for. Other dead ends are no matter of a check, and are never retried.
Cost: an attempt more for each retry.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.sampler import check_count, traits_of
from constrain.sampling.methods.table import Method, method_of

RETRIES = 8  # of a method that is given as it is


@dataclass(frozen=True)
class Retried:
    """A method whose outputs are sampled anew up to so many times, each, if they fail the last check.

    Attributes:
        retries: attempts after the first one; 0: none. A method that is given as it is has 8; "sir", "smc", "awrs",
            "asap" and "faithful", whose weights count what failed, have none.
        method: the method, by name or as an object.

    Raises:
        ConstrainError: `retries` is no number from 0, or there is no such method.

    Example:
        >>> import constrain, pydantic
        >>> class Even(pydantic.BaseModel):
        ...     number: int = pydantic.Field(ge=0, le=9)
        ...     @pydantic.field_validator("number")
        ...     @classmethod
        ...     def is_even(cls, number: int) -> int:
        ...         assert number % 2 == 0
        ...         return number
        >>> patient = constrain.sampling.Retried(50)
        >>> g = constrain.generate(constrain.reference.load(), "Even: ", type=Even, method=patient, seed=1)
        >>> g.unwrap().number % 2
        0
    """

    retries: int = RETRIES
    method: str | Method = "lcd"

    def __post_init__(self) -> None:
        check_count("retries", self.retries, 0)
        if isinstance(self.method, Retried):
            raise ConstrainError("a method is retried once", place="method", fix="give the inner method")
        method_of(self.method)

    def __call__(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """One attempt, as the method runs it; `generate` makes the others."""
        return method_of(self.method)(job)


def retries_of(method: Any, stream: bool, temperature: float) -> tuple[Method, int | None]:
    """(the method, how often an output is sampled anew) of what `generate(method=...)` got; None: nothing is said.

    Raises ConstrainError: no method, or retries where an output cannot come out otherwise.
    """
    inner = method_of(method.method if isinstance(method, Retried) else method)
    if not isinstance(method, Retried):
        return inner, None
    if method.retries and not _draws(inner, temperature):
        raise ConstrainError(
            f"retries={method.retries}: at temperature 0, or by a method that draws nothing, each retry is the same",
            place="method",
            fix="set a temperature above 0, or Retried(0)",
        )
    if method.retries and stream:
        raise ConstrainError(
            f"retries={method.retries}: a stream cannot be taken back", place="method", fix="leave stream=True out"
        )
    return inner, method.retries


def retries_by_default(method: Method, temperature: float) -> int:
    """The number of retries of a method of which nothing is said."""
    return RETRIES if _draws(method, temperature) and not traits_of(method).weighs else 0


def _draws(method: Method, temperature: float) -> bool:
    """An output may come out otherwise the next time."""
    return temperature > 0 and traits_of(method).random
