"""A whole decoder beside `lcd`: every output with its probability, from all the ways in which draws can turn out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sampling_cases import Case

from constrain.sampling import Job, Sample, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import Drafter, Fixed, Speculation
from toy_model import TableModel
from tree_target import TreeTable

TINY = 1e-12


class Fresh:
    """A method with new drafters for every run, since a decision tree is walked run by run."""

    name, random = "lcd", True

    def __init__(self, make: Callable[[], Drafter], verifier: str) -> None:
        self.make, self.verifier = make, verifier

    def __call__(self, job: Job) -> Any:
        return Speculation([self.make()], verifier=self.verifier, controller=Fixed(5, 3))(job)


def branching(job: Job) -> Job:
    """The same model, reading trees."""
    table = job.model
    assert isinstance(table, TableModel)
    return replace(job, model=TreeTable(table.width, table.seed, table.spread))


def law(case: Case, method: Any, trees: bool = True, **changes: Any) -> dict[tuple[int, ...], tuple[float, Sample]]:
    """Every output with its probability; whatever the drafts, its numbers must always be the same."""
    found: dict[tuple[int, ...], tuple[float, Sample]] = {}

    def run(draw: Any) -> list[Sample]:
        job = case.job(draw, **changes)
        return drive(method, branching(job) if trees else job)

    for probability, (sample,) in enumerate_draws(run):
        before, known = found.get(tuple(sample.tokens), (0.0, sample))
        same(known, sample)
        found[tuple(sample.tokens)] = (before + probability, sample)
    return found


def same(left: Sample, right: Sample) -> None:
    assert left.tokens == right.tokens
    assert left.finish_reason == right.finish_reason
    assert left.log_prob == pytest.approx(right.log_prob, abs=TINY)
    assert left.log_weight == pytest.approx(right.log_weight, abs=TINY)
    assert (left.accepted, left.log_evidence) == (right.accepted, pytest.approx(right.log_evidence, abs=TINY))
    assert [record.forced for record in left.trace] == [record.forced for record in right.trace]
    for one, other in zip(left.trace, right.trace, strict=True):
        assert one[:4] == pytest.approx(other[:4], abs=TINY)


def check(case: Case, method: Any, trees: bool = True, **changes: Any) -> None:
    expected, found = law(case, lcd, trees=False, **changes), law(case, method, trees, **changes)
    assert found.keys() == expected.keys()
    for tokens, (probability, sample) in found.items():
        assert probability == pytest.approx(expected[tokens][0], abs=TINY)
        same(sample, expected[tokens][1])
