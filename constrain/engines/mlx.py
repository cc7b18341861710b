"""mlx-lm: a model of it behind `constrain.generate`, and a logits processor for its own loops.

The idea: a model of mlx-lm reads token ids into a list of caches, one for each layer. A session holds such a list for
each row; a fork copies it, and arrays of MLX share their memory until one of them changes. Rows are read one after the
other, so n outputs of one prompt cost n forwards a step, after the prompt, which is read once.
Limit: drafts are trees of tokens, which models of mlx-lm do not read; `draft=` is refused.

Versions tested: mlx 0.32, mlx-lm 0.32.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import make_prompt_cache

from constrain.engines.follower import Follower
from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint

if TYPE_CHECKING:
    import torch


class MLXModel:
    """A model of mlx-lm and its tokenizer as a `constrain.sampling.LanguageModel`. `constrain.generate` makes it.

    Args:
        model: What `mlx_lm.load` returns first.
        tokenizer: What it returns second.

    Attributes:
        width: Logits a position.
        context: Positions that the model has; None: unlimited.
        tokenizer: The tokenizer of transformers.
        vocabulary: Its vocabulary, padded to `width`.

    Raises:
        ConstrainError: There is no tokenizer.
    """

    ragged = True

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if tokenizer is None:
            raise ConstrainError(
                "a model of mlx-lm comes without its tokenizer", fix="model, tokenizer = mlx_lm.load(...)"
            )
        self.model = model
        self.wrapper = tokenizer
        self.tokenizer = getattr(tokenizer, "_tokenizer", tokenizer)
        self.width: int = self.model(mx.array([[0]])).shape[-1]
        length = getattr(getattr(model, "args", None), "max_position_embeddings", None)
        self.context: int | None = length if isinstance(length, int) and length > 0 else None

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id; the ids at which mlx-lm stops end a text."""
        ends = sorted(getattr(self.wrapper, "eos_token_ids", ())) or None
        return Vocabulary.from_huggingface(self.tokenizer, size=self.width, eos_ids=ends)

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[MLXSession, list[torch.Tensor]]:
        """Read B prefixes, equal ones once; see `constrain.sampling.LanguageModel`."""
        read: dict[tuple[tuple[int, ...], int], tuple[list[Any], torch.Tensor]] = {}
        caches, logits = [], []
        for prefix, kept in zip(prefixes, keep, strict=True):
            key = (tuple(prefix), kept)
            if key not in read:
                cache = make_prompt_cache(self.model)
                read[key] = cache, self.read(cache, prefix, kept)
            caches.append(copy.deepcopy(read[key][0]))
            logits.append(read[key][1])
        return MLXSession(self, caches), logits

    def read(self, cache: list[Any], tokens: Sequence[int], keep: int) -> torch.Tensor:
        """Read tokens into a cache. Returns the logits of the last `keep` positions, float32[keep, width]."""
        import torch  # the processor below does without it

        logits = self.model(mx.array([list(tokens)]), cache=cache)[0, len(tokens) - keep :]
        return torch.from_numpy(np.array(logits.astype(mx.float32)))


class MLXSession:
    """A cache for each row; see `constrain.sampling.Session`."""

    def __init__(self, model: MLXModel, caches: list[list[Any]]) -> None:
        self.model = model
        self.caches = caches

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append tokens to each row, and return logits; see `constrain.sampling.Session`."""
        return [self.model.read(*each) for each in zip(self.caches, chunks, keep, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order."""
        self.caches = self.fork(rows).caches

    def fork(self, rows: Sequence[int]) -> MLXSession:
        """A session of its own that goes on with these rows."""
        return MLXSession(self.model, [copy.deepcopy(self.caches[row]) for row in rows])


class MLXProcessor:
    """A logits processor for `mlx_lm.generate` and `stream_generate`: masks what a constraint does not allow.

    It serves one sequence at a time; a call whose tokens do not continue what it has seen begins a new one.

    Args:
        compiled: The constraint, compiled for `MLXModel(model, tokenizer).vocabulary`.
        canonical: Where only tokens count that the tokenizer itself would write. None: where the text is forced, if
            the tokenizer is understood; True: everywhere, or it is an error; False: nowhere.

    Attributes:
        cuts: "forced", "canonical", or "all" and why.

    `mlx_lm.generate(model, tokenizer, prompt, logits_processors=[MLXProcessor(compiled)])`; docs/howto/mlx.md has more.
    """

    def __init__(self, compiled: CompiledConstraint, canonical: bool | None = None) -> None:
        self._follower = Follower(compiled, canonical)
        self.cuts = self._follower.cuts

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """The logits, float[1, W], with -inf for what is not allowed after the tokens, int[T]."""
        bits = self._follower.allowed(np.array(tokens).tolist(), logits.shape[-1])
        return mx.where(mx.array(bits), logits, -mx.inf)
