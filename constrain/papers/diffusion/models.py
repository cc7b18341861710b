"""Masked-diffusion models: logits for all positions of a text in which some tokens are masked.

Not measured with these two: figures are of the model of `scripts/train_diffusion.py`.

LLaDA (Nie et al., arXiv 2502.09992) predicts the token at each masked position from all others. Dream (Ye et al., arXiv
2508.15487) was made of an autoregressive model, and its logits at a position are those of the next one: `shift=True`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary


class MaskedDiffusion(Protocol):
    """A model that predicts masked tokens. With `logits_many`, it can read drafts (drafts.py).

    Attributes:
        vocabulary: Its tokens. The mask token has no text.
        mask_id: The token that stands for an open position.
    """

    vocabulary: Vocabulary
    mask_id: int

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits at each position of a text with masks: float32[len(tokens), len(vocabulary)]."""


class _Transformers:
    """A model of transformers with bidirectional attention."""

    def __init__(self, model: Any, vocabulary: Vocabulary, mask_id: int, shift: bool) -> None:
        self.model, self.vocabulary, self.mask_id, self.shift = model, vocabulary, mask_id, shift

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        return self.logits_many([tokens])[0]

    def logits_many(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The logits of texts of one length, in one call: float32[texts, tokens, vocabulary]."""
        import torch

        with torch.inference_mode():
            ids = torch.tensor([list(text) for text in texts], device=self.model.device)
            rows: NDArray[np.float32] = self.model(ids).logits[:, :, : len(self.vocabulary)].float().cpu().numpy()
        return np.concatenate([rows[:, :1], rows[:, :-1]], axis=1) if self.shift else rows


def from_transformers(
    model: Any, tokenizer: Any, *, mask_id: int | None = None, shift: bool = False
) -> MaskedDiffusion:
    """A masked-diffusion model that transformers has loaded.

    Args:
        model: Called with ids, int64[1, n]; its result has `logits`, [1, n, V]. Its attention sees all positions.
        tokenizer: Its tokenizer.
        mask_id: The mask token. Default: the tokenizer's, else that of the model's configuration.
        shift: The logits at a position are those of the next one, as in Dream.

    Returns:
        The model for `denoise`.

    Raises:
        ConstrainError: The model has no mask token, or it is no token of the vocabulary.

    Example:
        >>> import constrain
        >>> from constrain.papers.diffusion import from_transformers
        >>> ref = constrain.reference.load()  # an ordinary model
        >>> from_transformers(ref.model, ref.tokenizer)
        Traceback (most recent call last):
        constrain.errors.ConstrainError: the model has no mask token: neither tokenizer nor configuration name one
          fix: pass mask_id=..., or use generate() for a model that writes from left to right
    """
    for owner, name in ((tokenizer, "mask_token_id"), (getattr(model, "config", None), "mask_token_id")):
        if mask_id is None:
            mask_id = getattr(owner, name, None)
    if mask_id is None:
        raise ConstrainError(
            "the model has no mask token: neither tokenizer nor configuration name one",
            fix="pass mask_id=..., or use generate() for a model that writes from left to right",
        )
    width = getattr(getattr(model, "config", None), "vocab_size", None)
    size = width if isinstance(width, int) and width > len(tokenizer) else None  # rows of logits may be padded
    vocabulary = Vocabulary.from_huggingface(tokenizer, size=size)
    if not 0 <= mask_id < len(vocabulary):
        raise ConstrainError(
            f"the mask token is {mask_id}, which is no token of a vocabulary of {len(vocabulary)}",
            fix="pass mask_id=..., the id that the model was trained with",
        )
    return _Transformers(model, vocabulary, mask_id, shift)
