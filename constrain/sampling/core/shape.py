"""The model that a target speaks of: temperature, then top-k and top-p, on the model's own distribution.

A target is "p, conditioned on the constraint", so p must be said before any mask is seen. The idea: wrap the model, so
that whatever asks for logits gets those of p; the methods then know no temperature and no truncation.
`lcd` is the exception: it truncates what the mask has left, so that it never runs dry, and its weights say so.

Cost: with top-k or top-p one softmax and one truncation of every row of logits; else one division.
Limit: log-probabilities of samples are those of p, renormalised after truncation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.ahead import ReadsAhead, reads_ahead
from constrain.sampling.core.job import Job, Settings
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.step import truncated
from constrain.sampling.core.wrapped import WrappedModel


def shaped(job: Job) -> Job:
    """A job with the shaped model p as its model, at temperature 1 and without truncation.

    Args:
        job: its settings say how p is shaped.

    Returns:
        The job itself where nothing is to be shaped, else one with a wrapped model.

    Raises:
        ConstrainError: the temperature is 0, where there is nothing to sample.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling import shaped
        >>> shaped(make_job(constrain.reference.load(), "Hi", regex="a+", temperature=0.5)).settings.temperature
        1.0
    """
    settings = job.settings
    refuse_greedy(settings)
    if settings.temperature == 1 and not settings.truncates:
        return job
    model = cast(ReadsAhead, job.model).shaped(settings) if reads_ahead(job.model) else ShapedModel(job.model, settings)
    return replace(job, model=model, settings=Settings(max_tokens=settings.max_tokens))


def refuse_greedy(settings: Settings) -> None:
    """Refuse temperature 0, for methods that draw. Raises ConstrainError."""
    if settings.temperature == 0:
        raise ConstrainError(
            "temperature 0 leaves nothing to sample, and this method is about what is sampled",
            fix='use method="argmax" for the likeliest member, "lcd" for greedy tokens, or a temperature above 0',
        )


class ShapedModel(WrappedModel):
    """A `LanguageModel` whose softmax is p."""

    def __init__(self, model: LanguageModel, settings: Settings) -> None:
        self.model = model
        self.settings = settings

    def changed(self, given: Sequence[torch.Tensor]) -> torch.Tensor:
        return shape(given[0], self.settings)


def shape(logits: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Logits of p, float[K, W]: divided by the temperature, -inf where truncated.

    Rows that are no logits (NaN, +inf, all -inf) stay as they are: `step` reports them with their place.
    """
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    logits = logits / settings.temperature
    sound = logits.logsumexp(-1).isfinite()
    if settings.truncates and bool(sound.any()):
        rows = sound.nonzero().squeeze(1)
        kept = truncated(logits[rows].softmax(-1), settings) > 0
        logits[rows] = logits[rows].masked_fill(~kept, -torch.inf)
    return logits
