"""Running a method with processors: jobs whose rows a processed model can tell apart, one after the other.

A session is told texts, not rows. Two rows are told apart by their prompts unless one prompt begins the other, or equal
prompts have different constraints (a healed prompt): then they run as jobs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.core.wrapped import begins_another
from constrain.sampling.methods.table import Method
from constrain.sampling.processors.core.model import ProcessedModel
from constrain.sampling.processors.core.processor import Processor


def run_processed(
    method: Method, job: Job, processors: Sequence[Processor], ahead: Callable[[Job], Job] | None = None
) -> Generator[tuple[int, list[int]], None, list[Sample]]:
    """The samples of a method about what processors make of the job's model.

    Args:
        method: of `constrain.sampling`.
        job: the rows.
        processors: asked in this order; none: the job as it is.
        ahead: makes a job one whose model reads drafts ahead, of the processed logits; None: no drafts are read.

    Yields:
        What the method yields, and returns its samples in the order of the rows.

    Raises:
        ConstrainError: a method with a memory, and a processor whose `key` is None.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling.processors import MinP, run_processed
        >>> from constrain.sampling import lcd
        >>> job = make_job(constrain.reference.load(), "Hi", regex="[a-z]{3}")
        >>> len(list(run_processed(lcd, job, [MinP(0.2)]))) > 0  # what was streamed
        True
    """
    if not processors:
        return (yield from method(job if ahead is None else ahead(job)))
    outputs: dict[int, Sample] = {}
    for rows in separable(job):
        part = _part(job, rows, processors, traits_of(method).memory is not None)
        steps = method(part if ahead is None else ahead(part))
        while True:
            try:
                row, tokens = next(steps)
            except StopIteration as stop:
                outputs.update(zip(rows, stop.value, strict=True))
                break
            yield rows[row], tokens
    return [outputs[row] for row in range(len(job.prompts))]


def processed(job: Job, processors: Sequence[Processor]) -> Job:
    """A job about what processors make of its model.

    Args:
        job: its prompts must not begin one another.
        processors: asked in this order.

    Returns:
        The job with a `ProcessedModel`.

    Raises:
        ConstrainError: its rows cannot be told apart.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling.processors import MinP, processed
        >>> processed(make_job(constrain.reference.load(), "Hi", regex="a+"), [MinP(0.1)]).model.reads_scores
        False
    """
    if len(separable(job)) > 1:
        raise ConstrainError("a prompt of the job begins another one", fix="make a job of each")
    return _part(job, list(range(len(job.prompts))), processors, remembered=False)


def _part(job: Job, rows: list[int], processors: Sequence[Processor], remembered: bool) -> Job:
    part = job if len(rows) == len(job.prompts) else job.part(rows)
    keys = [each.key for each in processors]
    if remembered and None in keys:
        unnamed = processors[keys.index(None)]
        raise ConstrainError(
            f"a Memory cannot tell the processor {unnamed!r} from others", fix="leave out the memory, or the processor"
        )
    key = job.constraint_key and f"{job.constraint_key} processors {keys}"
    return replace(part, model=ProcessedModel(part, processors), constraint_key=key)


def separable(job: Job) -> list[list[int]]:
    """The rows of a job in groups, in order: inside of each no target's prompt begins another's."""
    groups: list[tuple[dict[Any, tuple[int, ...]], list[int]]] = []
    for row in range(len(job.prompts)):
        target = job.target(row)
        for targets, rows in groups:
            if target in targets or not begins_another([target[0], *targets.values()]):
                targets[target] = target[0]
                rows.append(row)
                break
        else:
            groups.append(({target: target[0]}, [row]))
    return [rows for _, rows in groups]
