"""A model whose temperature follows a constraint: rules of a grammar may ask for one (`rule[temperature=0.7]`).

The idea: wrap the model, so that its softmax after a prefix is that of the temperature in force there
(`Matcher.temperature`). It is a model like any other: a method's distribution and weights, as it states them, are those
of this model, and so are log-probabilities. Where no rule asks, nothing changes; where one does, the temperature of the
call is replaced, since the logits are multiplied by it beforehand.

Cost: one more matcher for each row. Drafts are verified as chains.
Limit: prompts are told apart by their tokens, so none may begin another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.masks.engine.regions import tempered_rule
from constrain.sampling.core.model import LanguageModel, Session, WrappedModel


@dataclass
class _Row:
    """A text that grows. read: its tokens while they are those of a prompt; matcher: at its end, None: it has none."""

    read: list[int] = field(default_factory=list)
    matcher: Any = None
    in_prompt: bool = True

    def fork(self) -> _Row:
        return _Row(list(self.read), None if self.matcher is None else self.matcher.fork(), self.in_prompt)


class TemperedModel(WrappedModel):
    """A `LanguageModel`.

    Args:
        model: The model.
        compiled: The compiled constraint, with temperatures.
        prompts: The prompts after which its texts begin.
        temperature: What the logits are divided by afterwards; the rules' temperatures count instead.

    Raises:
        ConstrainError: The temperature is 0, or a prompt begins another one.
    """

    def __init__(
        self, model: LanguageModel, compiled: Any, prompts: Sequence[Sequence[int]], temperature: float
    ) -> None:
        rule = tempered_rule(compiled)
        if temperature == 0 and rule is not None:
            message = "temperature 0 draws nothing, and a rule of the grammar asks for a temperature"
            raise ConstrainError(message, place=rule.place, fix="leave one of the two out")
        self.model, self.compiled, self.temperature = model, compiled, temperature
        self.prompts = {tuple(prompt) for prompt in prompts}
        ordered = sorted(self.prompts)
        for one, two in pairwise(ordered):
            if two[: len(one)] == one:
                message = "a prompt begins another one, and a rule of the grammar asks for a temperature"
                raise ConstrainError(message, fix="call generate once for each prompt")

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        session, logits = self.model.start(prefixes, keep)
        rows = [_Row() for _ in prefixes]
        return _TemperedSession(self, session, rows), self.read(rows, prefixes, logits)

    def read(
        self, rows: Sequence[_Row], chunks: Sequence[Sequence[int]], logits: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Append tokens to rows. Returns the logits of the last positions, at the temperatures in force there."""
        return [
            self._scaled(values, [self._factor(row, token) for token in chunk][len(chunk) - len(values) :])
            for row, chunk, values in zip(rows, chunks, logits, strict=True)
        ]

    def _factor(self, row: _Row, token: int) -> float:
        """The factor of the logits after one more token."""
        if row.in_prompt:
            row.read.append(token)
            if tuple(row.read) in self.prompts:
                row.read, row.in_prompt, row.matcher = [], False, self.compiled.matcher()
        elif row.matcher is not None and not row.matcher.advance(token):
            row.matcher = None  # no text of the constraint: nobody goes on with it
        asked = None if row.matcher is None else row.matcher.temperature
        return 1.0 if asked is None else self.temperature / asked

    def _scaled(self, logits: torch.Tensor, factors: Sequence[float]) -> torch.Tensor:
        if all(factor == 1 for factor in factors):
            return logits
        wide = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
        return wide * torch.tensor(factors, dtype=wide.dtype, device=wide.device)[:, None]


class _TemperedSession:
    def __init__(self, owner: TemperedModel, session: Session, rows: list[_Row]) -> None:
        self.owner, self.session, self.rows = owner, session, rows

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        return self.owner.read(self.rows, chunks, self.session.feed(chunks, keep))

    def select(self, rows: Sequence[int]) -> None:
        self.session.select(rows)
        self.rows = [self.rows[row].fork() for row in rows]

    def fork(self, rows: Sequence[int]) -> Session:
        return _TemperedSession(self.owner, self.session.fork(rows), [self.rows[row].fork() for row in rows])
