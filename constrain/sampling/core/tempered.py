"""A model whose temperature follows a constraint: rules of a grammar may ask for one (`rule[temperature=0.7]`).

The idea: wrap the model, so that its softmax after a prefix is that of the temperature in force there
(`Matcher.temperature`). It is a model like any other: a method's distribution and weights, as it states them, are those
of this model, and so are log-probabilities. Where no rule asks, nothing changes; where one does, the temperature of the
call is replaced, since the logits are multiplied by it beforehand.

Cost: one more matcher for each row.
Limit: prompts are told apart by their tokens, so none may begin another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import tempered_rule
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.wrapped import FirstRead, WrappedModel, begins_another, prompt_of


@dataclass
class _Row:
    """The end of a text. matcher: there; None: it has none."""

    matcher: Any = None

    def fork(self) -> _Row:
        return _Row(None if self.matcher is None else self.matcher.fork())


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

    follows = True

    def __init__(
        self, model: LanguageModel, compiled: Any, prompts: Sequence[Sequence[int]], temperature: float
    ) -> None:
        rule = tempered_rule(compiled)
        if temperature == 0 and rule is not None:
            message = "temperature 0 draws nothing, and a rule of the grammar asks for a temperature"
            raise ConstrainError(message, place=rule.place, fix="leave one of the two out")
        self.model, self.compiled, self.temperature = model, compiled, temperature
        self.prompts = {tuple(prompt) for prompt in prompts}
        if begins_another(list(self.prompts)):
            message = "a prompt begins another one, and a rule of the grammar asks for a temperature"
            raise ConstrainError(message, fix="call generate once for each prompt")

    def first_read(self, prefix: Sequence[int]) -> FirstRead:
        prompt = prompt_of(prefix, self.prompts)
        if prompt is None:
            return FirstRead(_Row(), [prefix])
        return FirstRead(_Row(self.compiled.matcher()), [prompt], prefix[len(prompt) :])

    def arrive(
        self, place: _Row, token: int | None, given: Sequence[torch.Tensor] | None, wanted: bool
    ) -> tuple[_Row, torch.Tensor | None]:
        if token is not None and place.matcher is not None and not place.matcher.advance(token):
            place.matcher = None  # no text of the constraint: nobody goes on with it
        if given is None:
            return place, None
        (logits,), asked = given, None if place.matcher is None else place.matcher.temperature
        if asked is None or asked == self.temperature:
            return place, logits
        wide = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
        return place, wide * wide.new_tensor(self.temperature / asked)
