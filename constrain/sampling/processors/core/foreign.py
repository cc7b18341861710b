"""Logits processors of transformers, and whatever is called likewise, as processors.

They are called with `input_ids` int64[1, T] (prompt and output) and `scores` float[1, W], as `model.generate` calls
them; the scores have -inf where the mask forbids. One row a call: rows of a batch differ in length here.

A processor must answer equal texts equally: methods fork and go back. One that keeps something between calls is
refused: by its class where that is known, else it is asked twice at its first call.
"""

from __future__ import annotations

from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor

KEEPING = {  # classes of transformers that keep something between calls, and what to do
    "UnbatchedClassifierFreeGuidanceLogitsProcessor": "generate with constrain.composed.Guided(model, ...)",
    "SynthIDTextWatermarkLogitsProcessor": "leave it out: it counts its calls",
}


class Foreign(Processor):
    """An object that is called with (input_ids, scores).

    Args:
        processor: of transformers, or your own.

    Raises:
        ConstrainError: it keeps something between calls.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Foreign, StepContext
        >>> first_is_forbidden = Foreign(lambda ids, scores: scores.index_fill(1, torch.tensor([0]), -torch.inf))
        >>> first_is_forbidden(torch.zeros(2), StepContext((0,), (), 2))
        tensor([-inf, 0.])
    """

    def __init__(self, processor: Any) -> None:
        kind = type(processor).__name__
        if kind in KEEPING:
            raise ConstrainError(
                f"{kind} keeps something between its calls, and methods go back in texts", fix=KEEPING[kind]
            )
        self.processor = processor
        self.name = getattr(processor, "__name__", kind)
        self._asked = False

    @property
    def key(self) -> None:
        """None: nobody can say what another library's processor depends on."""
        return None

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        """The other processor's scores. Raises ConstrainError: it answered twice in different ways, or failed."""
        answer = self._ask(scores, context)
        if not self._asked:
            self._asked = True
            if not torch.equal(answer.nan_to_num(), self._ask(scores, context).nan_to_num()):
                raise ConstrainError(
                    f"the processor {self.name} gave two answers for one text, so it keeps something between its calls",
                    place=f"output {context.row}, token {context.step}",
                    fix="write it as a constrain.processors.Processor, whose state is carried with the text",
                )
        return answer

    def _ask(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        ids = torch.tensor([[*context.prompt, *context.tokens]], dtype=torch.int64, device=scores.device)
        try:
            answer = self.processor(ids, scores.clone().unsqueeze(0))
        except ConstrainError:
            raise
        except Exception as error:
            raise ConstrainError(
                f"the processor {self.name} failed: {type(error).__name__}: {error}",
                place=f"output {context.row}, token {context.step}",
            ) from error
        if not isinstance(answer, torch.Tensor) or answer.shape != (1, len(scores)):
            raise ConstrainError(f"the processor {self.name} gave no scores of shape (1, {len(scores)})")
        return answer[0].to(scores.dtype)


def processors_of(given: Any) -> list[Processor]:
    """The processors that `generate(processors=...)` means.

    Args:
        given: None, a processor, or a list of processors and of what is called like those of transformers.

    Returns:
        Processors, in order.

    Raises:
        ConstrainError: something else, with its place in the list.

    Example:
        >>> from constrain.sampling.processors import MinP, processors_of
        >>> processors_of([MinP(0.1), lambda input_ids, scores: scores])
        [min-p, <lambda>]
    """
    if given is None:
        return []
    several = given if isinstance(given, (list, tuple)) else [given]
    found = []
    for place, each in enumerate(several):
        if isinstance(each, type) or not callable(each):
            what = f"the class {each.__name__}" if isinstance(each, type) else f"{each!r:.60}"
            raise ConstrainError(
                f"{what} is no processor",
                place=f"processors[{place}]",
                fix="pass objects of constrain.processors, or LogitsProcessors of transformers",
            )
        found.append(each if isinstance(each, Processor) else Foreign(each))
    return found
