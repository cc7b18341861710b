"""The model that processors make of a model: what is allowed is shared out anew, what is not keeps its mass.

At a prefix with mask m let p be the model's distribution, Z = Σ_v p(v) m(v), and f what the processors make of the
logits under the mask. Then

    p''(v) = Z · softmax(f)(v)   where m allows v          p''(v) = p(v)   elsewhere

p'' is a distribution over all tokens and a function of the prefix, so it is a language model: every method stays what
it says, about p'' instead of p. Masked decoding draws from softmax(f), and its weights are ΠZ of the model itself.
Masking comes
first: a rule that cuts never cuts all that the grammar can use. Where one token is allowed, p'' = p, and no processor
is asked. Without a constraint p'' = softmax(f).

Cost: a mask and a softmax at every place whose logits are used, row by row. Rows of a batch are told by their prompts,
so no prompt of a job may begin another one with another target (run.py splits such jobs).
Limit: temperature, top-k and top-p act on p'', after the processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.bitmask.apply import apply_bitmask_
from constrain.sampling.core.job import Job
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.sources import tokens_of
from constrain.sampling.core.wrapped import FirstRead, WrappedModel, prompt_of
from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor


class ProcessedModel(WrappedModel):
    """A `LanguageModel` whose distribution is p''; see the module `constrain.sampling.processors.core.model`.

    Args:
        job: its model is processed, under the constraints of its rows.
        processors: asked in this order.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> from constrain.sampling.processors import MinP, ProcessedModel
        >>> job = make_job(constrain.reference.load(), "A date: ", regex="[0-9]{4}")
        >>> session, (logits,) = ProcessedModel(job, [MinP(1.0)]).start(job.prompts, keep=[1])
        >>> allowed = logits[0, [job.token_bytes.index(b"%d" % digit) for digit in range(10)]]
        >>> int((allowed > -float("inf")).sum())  # the likeliest digit
        1
    """

    follows = True

    def __init__(self, job: Job, processors: Sequence[Processor]) -> None:
        self.model: LanguageModel = job.model
        self.job = job
        self.processors = list(processors)
        self.shared: dict[Any, Any] = {}  # what contexts find out about the vocabulary
        self.first = {tuple(prompt): row for row, prompt in reversed(list(enumerate(job.prompts)))}

    @property
    def reads_scores(self) -> bool:
        """Some processor needs the scores of every place of an output."""
        return any(each.reads_scores for each in self.processors)

    reads_all = reads_scores

    def first_read(self, prefix: Sequence[int]) -> FirstRead:
        """The row of the job whose prompt begins a prefix."""
        prompt = prompt_of(prefix, self.first)
        if prompt is None:
            raise ConstrainError("a processed model reads the prompts of its own job, and this is another text")
        number = self.first[prompt]
        matcher = None if self.job.matchers is None else self.job.matchers[number].fork()
        row = ProcessedRow(number, prompt, matcher)
        context = self._context(row, None, -1)
        for each in self.processors:
            each.check(context)
        row.states = [each.begin(context) for each in self.processors]
        return FirstRead(row, [prompt], prefix[len(prompt) :])

    def arrive(
        self, place: ProcessedRow, token: int | None, given: Sequence[torch.Tensor] | None, wanted: bool
    ) -> tuple[ProcessedRow, torch.Tensor | None]:
        if token is not None:
            self.advance(place, token)
        asked = given is not None and (wanted or self.reads_scores)
        return place, self.process(place, given[0]) if asked and given else None

    def advance(self, row: ProcessedRow, token: int) -> None:
        """Read a token: states and matcher go on."""
        context = row.place
        if context is None:  # nobody asked for the logits of this place
            context = self._context(row, None, -1)
        scores = row.scores
        row.states = [
            each.advance(state, token, scores[i] if scores else None, replace(context, state=state))
            for i, (each, state) in enumerate(zip(self.processors, row.states, strict=True))
        ]
        row.place, row.scores = None, []
        row.tokens.append(token)
        if row.inside and row.matcher is not None and not row.matcher.advance(token):
            row.inside = False
        if token in self.job.eos_ids:
            row.inside = False

    def _context(self, row: ProcessedRow, mask: np.ndarray | None, count: int) -> StepContext:
        return StepContext(
            prompt=tokens_of(row.prompt),
            tokens=tuple(row.tokens),
            width=self.width,
            mask=mask,
            allowed_count=count,
            matcher=row.matcher,
            eos_ids=tuple(self.job.eos_ids),
            token_bytes=self.job.token_bytes,
            row=row.number,
            shared=self.shared,
        )

    def process(self, row: ProcessedRow, logits: torch.Tensor) -> torch.Tensor:
        """The logits of p'' at a row's place, from those of p, float[W]."""
        if not row.inside:  # after the end, or after what the constraint forbids
            return logits
        if logits.dtype not in (torch.float32, torch.float64):
            logits = logits.float()
        mask, count = self._mask(row)
        row.place = self._context(row, mask, count)
        log_p = logits - logits.logsumexp(-1)
        scores = logits.clone()
        if mask is not None:
            apply_bitmask_(scores.unsqueeze(0), mask[None], self.job.size)
        total = scores.logsumexp(-1)
        if count in (0, 1) or not bool(total.isfinite()):  # forced, or no numbers, which `step` reports
            return logits
        allowed = scores > -torch.inf
        row.scores = []
        for each, state in zip(self.processors, row.states, strict=True):
            row.scores.append(scores)
            scores = self._checked(each, each(scores, replace(row.place, state=state)), row)
            scores = scores.masked_fill(~allowed, -torch.inf)
            if not bool(scores.logsumexp(-1).isfinite()):  # nothing that is allowed has any mass: a dead end
                break
        mass = log_p[allowed].logsumexp(-1)
        processed = scores - scores.logsumexp(-1) + mass if bool((scores > -torch.inf).any()) else scores
        return torch.where(allowed, processed, log_p)

    def _mask(self, row: ProcessedRow) -> tuple[np.ndarray | None, int]:
        """The mask of a row's place, and how many tokens it allows; (None, -1) without a constraint."""
        if row.matcher is None:
            return None, -1
        mask = np.zeros(self.job.words, dtype=np.uint32)
        with self.job.clock.stage("mask"):
            row.matcher.fill_mask(mask)
        return mask, int(np.unpackbits(mask.view(np.uint8)).sum())

    def _checked(self, processor: Processor, scores: Any, row: ProcessedRow) -> torch.Tensor:
        """Scores that are numbers below infinity, of the right shape. Raises ConstrainError."""
        sound = isinstance(scores, torch.Tensor) and scores.shape == (self.width,)
        if sound and not bool((scores.isnan() | (scores == torch.inf)).any()):
            return scores
        what = "numbers that are no scores (NaN or +inf)" if sound else f"no tensor of {self.width} scores"
        raise ConstrainError(
            f"the processor {processor!r} gave {what}",
            place=f"output {row.number}, token {len(row.tokens)}",
            fix="scores are logits: finite, or -inf for what is forbidden",
        )


@dataclass
class ProcessedRow:
    """A sequence of a session. number: of its row in the job. inside: it is a prefix of the language.

    states: of the processors. place, scores: where the next token stands, and what each processor was given there.
    """

    number: int
    prompt: tuple[int, ...]
    matcher: Any
    tokens: list[int] = field(default_factory=list)
    inside: bool = True
    states: list[Any] = field(default_factory=list)
    place: StepContext | None = None
    scores: list[torch.Tensor] = field(default_factory=list)

    def fork(self) -> ProcessedRow:
        matcher = None if self.matcher is None else self.matcher.fork()
        place = None if self.place is None else replace(self.place, matcher=matcher)
        return replace(self, matcher=matcher, tokens=list(self.tokens), states=list(self.states), place=place)
