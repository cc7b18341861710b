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
from typing import Any, cast

import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.ahead import AheadSession, ReadRow, ReadsAhead, reads_ahead
from constrain.sampling.core.job import Job, Settings
from constrain.sampling.core.model import LanguageModel, Session, WrappedModel
from constrain.sampling.core.step import truncated


def shaped(job: Job) -> Job:
    """The same job with the shaped model p as its model, at temperature 1 and without truncation.

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
    return replace(job, model=ShapedModel(job.model, settings), settings=Settings(max_tokens=settings.max_tokens))


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

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        session, logits = self.model.start(prefixes, keep)
        return _ShapedSession(session, self.settings), [shape(rows, self.settings) for rows in logits]

    @property
    def reads_ahead(self) -> bool:
        return reads_ahead(self.model)

    def start_ahead(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int], writers: Sequence[Any]
    ) -> tuple[_ShapedSession, list[ReadRow]]:
        session, answers = cast(ReadsAhead, self.model).start_ahead(prefixes, keep, writers)
        shaped_session = _ShapedSession(session, self.settings)
        return shaped_session, list(map(shaped_session.shaped, answers))


class _ShapedSession:
    def __init__(self, session: Session, settings: Settings) -> None:
        self.session = session
        self.settings = settings

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        return [shape(rows, self.settings) for rows in self.session.feed(chunks, keep)]

    def select(self, rows: Sequence[int]) -> None:
        self.session.select(rows)

    def fork(self, rows: Sequence[int]) -> Session:
        return _ShapedSession(self.session.fork(rows), self.settings)

    def read(
        self, rows: Sequence[int], chunks: Sequence[Sequence[int]], keep: Sequence[int], writers: Sequence[Any]
    ) -> list[ReadRow]:
        return [self.shaped(each) for each in cast(AheadSession, self.session).read(rows, chunks, keep, writers)]

    def shaped(self, answer: ReadRow) -> ReadRow:
        ahead = answer.ahead and answer.ahead.shaped(shape(answer.ahead.logits, self.settings))
        return answer._replace(logits=shape(answer.logits, self.settings), ahead=ahead)


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
