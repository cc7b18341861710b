"""Processors: rules that change the distribution of the next token, given the text and the constraint's state.

    class Colder(Processor):
        name = "colder"
        def __call__(self, scores, context):
            return scores * 2

The scores are the model's logits with -inf where the mask forbids, so whatever a rule renormalises or cuts, it does so
under the mask. Where the constraint leaves one token, no processor is asked.

A processor may keep a state along a text: `begin` makes it, `advance` reads each token. It is carried with the
sequence and forked with it, so it is a function of the text too: a state is a value, never changed in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.sampling.processors.core.context import StepContext


class Processor:
    """A rule that changes the scores of the next token; see the module `constrain.sampling.processors.core.processor`.

    Attributes:
        name: what messages call it.
        paper: where it is from.
        `law`: the distribution that it makes of the next token's.
        reads_scores: `advance` needs the scores of the token's place, so they are computed at every place.

    Example:
        >>> import torch
        >>> from constrain.sampling.processors import Processor, StepContext
        >>> class Colder(Processor):
        ...     def __call__(self, scores, context):
        ...         return scores * 2
        >>> Colder()(torch.tensor([1.0, 2.0]), StepContext((0,), (), 2))
        tensor([2., 4.])
    """

    name: str = ""
    paper: str = ""
    law: str = ""
    reads_scores: bool = False

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        """New scores float[W] from scores float[W], which stay as they are; -inf where a token is forbidden."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does to scores")

    def begin(self, context: StepContext) -> Any:
        """The state at the beginning of an output; None: the text so far is all that it needs."""
        return None

    def advance(self, state: Any, token: int, scores: torch.Tensor | None, context: StepContext) -> Any:
        """The state after a token. scores: what `__call__` was given before it, None if it was not asked.

        context: the place before the token.
        """
        return None

    def check(self, context: StepContext) -> None:
        """Refuse a constraint that it cannot read, once, at the beginning. Raises ConstrainError."""

    @property
    def key(self) -> str | None:
        """The identity of its distribution, for memories of samplers; None: unknown."""
        options = sorted(vars(self).items())
        if not all(isinstance(value, (bool, int, float, str, type(None))) for _, value in options):
            return None
        return f"{type(self).__module__}.{type(self).__qualname__}({', '.join(f'{k}={v!r}' for k, v in options)})"

    def __repr__(self) -> str:
        return self.name or type(self).__name__


def number(name: str, value: Any, least: float, most: float, *, open_below: bool = False) -> float:
    """A number within bounds, or ConstrainError naming the option."""
    sound = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not sound or not least <= value <= most or (open_below and value == least):
        above = "above" if open_below else "from"
        raise ConstrainError(f"{name} must be a number {above} {least:g} to {most:g}, not {value!r}")
    return float(value)


def distinct(tokens: Sequence[int], width: int, device: torch.device) -> torch.Tensor:
    """int64[n]: the ids that occur and have a score."""
    return torch.tensor(sorted({token for token in tokens if token < width}), dtype=torch.int64, device=device)
