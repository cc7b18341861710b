"""onnxruntime-genai: a model of it behind `constrain.generate`, and a mask for its own loop.

The idea: a `Generator` holds one text, and can be rewound (one_text.py has the cost). In its own loop the logits can be
read and replaced before each token.

Version tested: onnxruntime-genai 0.18.0, on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnxruntime_genai as og
from numpy.typing import NDArray

from constrain.engines.follower import Follower
from constrain.engines.one_text import OneTextModel
from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint


class ONNXModel(OneTextModel):
    """An `onnxruntime_genai.Model` and its tokenizer as a `constrain.sampling.LanguageModel`.

    `constrain.generate` makes it.

    Args:
        model: The model.
        tokenizer: The tokenizer of transformers: the library's own does not give the bytes of tokens.

    Attributes:
        width: Logits a position.
        context: Positions that the model has.
        tokenizer: As given.
        vocabulary: The bytes of every token id, padded to `width`.

    Raises:
        ConstrainError: There is no tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if tokenizer is None:
            raise ConstrainError(
                "a model of onnxruntime-genai comes without the bytes of its tokens",
                fix="tokenizer=AutoTokenizer.from_pretrained(FOLDER), of transformers",
            )
        self.tokenizer = tokenizer
        self._ends = sorted({int(token) for token in og.Tokenizer(model).eos_token_ids})
        params = og.GeneratorParams(model)
        params.set_search_options(batch_size=1, num_beams=1)
        self.context = int(params.get_search_options()["max_length"])
        self._generator = og.Generator(model, params)
        self._text: list[int] = []
        self.width = len(self.append([0]))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id; the ids at which onnxruntime-genai stops end a text."""
        return Vocabulary.from_huggingface(self.tokenizer, size=self.width, eos_ids=self._ends or None)

    def known(self) -> list[int]:
        """The text of the generator."""
        return self._text

    def go_back(self, length: int) -> int:
        """Forget all but the first tokens."""
        if length < len(self._text):
            self._generator.rewind_to(length)
            del self._text[length:]
        return length

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read tokens. Returns the logits after the last one, float32[width]."""
        self._generator.append_tokens(np.array(tokens, np.int32))
        self._text += tokens
        return np.array(self._generator.get_logits()[0, -1], np.float32)


class ONNXMask:
    """Masks the logits of an `onnxruntime_genai.Generator` before each token of its own loop.

    It serves one sequence at a time; a sequence that does not continue what it has seen begins a new one.

        mask = ONNXMask(compiled)
        while not generator.is_done():
            mask(generator)
            generator.generate_next_token()

    Args:
        compiled: The constraint, compiled for `ONNXModel(model, tokenizer).vocabulary`.
        canonical: Where only tokens count that the tokenizer itself would write. None: where the text is forced, if
            the tokenizer is understood; True: everywhere, or it is an error; False: nowhere.

    Attributes:
        cuts: "forced", "canonical", or "all" and why.
    """

    def __init__(self, compiled: CompiledConstraint, canonical: bool | None = None) -> None:
        self._follower = Follower(compiled, canonical)
        self.cuts = self._follower.cuts

    def __call__(self, generator: Any) -> None:
        """Replace the logits of the next token: -inf for what is not allowed.

        Raises:
            ConstrainError: The generator has several sequences, or see `Follower.allowed`.
        """
        logits = generator.get_logits()
        if logits.shape[0] != 1:
            raise ConstrainError(
                f"the generator has {logits.shape[0]} sequences, and this mask is for one",
                fix="use batch_size=1 and num_beams=1",
            )
        bits = self._follower.allowed(generator.get_sequence(0).tolist(), logits.shape[-1])
        generator.set_logits(np.where(bits, logits, np.float32(-np.inf)))
