"""Drafts of later steps, read beside the present text in one call of the model: FreeDave (Wu and Zhang, arXiv
2510.00294).

Pays, measured on the model of `scripts/train_diffusion.py`: with three drafts it is called 0.29 to 0.8 times as often,
and all 864 texts are those without drafts (record 2026-11-23-diffusion-again).

The idea: a step's logits also say what the next steps will probably set. So the texts after two, three, ... steps are
read together with the text after one. As long as the next steps lead to these texts, their logits are at hand. A step
is never taken over from a draft: it is made from logits of the very text that it is made in. So the output is that of
decoding without drafts, under any policy and constraint, in fewer calls of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.papers.diffusion.models import MaskedDiffusion

Logits = NDArray[np.floating[Any]]


class DraftReader:
    """Reads texts with a model, and some that may come next.

    Args:
        model: The model; with drafts, it has `logits_many`.
        prompt: The tokens before each text.
        drafts: How many texts are read beside the present one, at most.
        eos: The tokens that end a text: behind the first one there are only such.

    Attributes:
        calls: How often the model was called.
        hits: How often the logits were at hand.

    Raises:
        ConstrainError: The model reads one text at a time only.
    """

    def __init__(self, model: MaskedDiffusion, prompt: Sequence[int], drafts: int, eos: AbstractSet[int]) -> None:
        if drafts and not hasattr(model, "logits_many"):
            raise ConstrainError(
                "drafts take a model that reads several texts in one call",
                fix="give the model logits_many(texts), float32[texts, tokens, vocabulary]; or leave drafts out",
            )
        self.model, self.prompt, self.drafts, self.eos = model, list(prompt), drafts, eos
        self.calls = self.hits = 0
        self._known: dict[tuple[int, ...], Logits] = {}
        self._next: list[tuple[int, int]] = []
        self._size = 1

    def expect(self, tokens: list[tuple[int, int]], size: int) -> None:
        """Say what the next steps will probably set: (position, token) in order, so many of them a step."""
        self._next, self._size = tokens[: size * self.drafts], size

    def logits(self, text: Sequence[int]) -> Logits:
        """float[len(text), V], the logits of a text without its prompt; the model's own array, not to be changed."""
        key = tuple(text)
        if key in self._known:
            self.hits += 1
            return self._known[key]
        self.calls += 1
        if not self.drafts:
            return self._own(self.model.logits([*self.prompt, *text]))
        texts = [key]
        for begin in range(0, len(self._next), self._size):
            draft = list(texts[-1])
            for position, token in self._next[begin : begin + self._size]:
                draft[position] = token
                if token in self.eos:
                    draft[position:] = [token] * (len(draft) - position)
            texts.append(tuple(draft))
        rows = self.model.logits_many([[*self.prompt, *each] for each in texts])  # type: ignore[attr-defined]
        self._known = {each: self._own(np.array(row)) for each, row in zip(texts, rows, strict=True)}
        return self._known[key]

    def _own(self, rows: Logits) -> Logits:
        return np.asarray(rows)[len(self.prompt) :]
