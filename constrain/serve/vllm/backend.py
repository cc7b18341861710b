"""One engine: vLLM's `StructuredOutputBackend` over a vocabulary and its compiled constraints.

The idea: what is dear is done when the engine starts. The vocabulary is read, the kernels are loaded (where they are
not compiled yet, that takes a minute once), and a first mask is made of each kind of constraint, so that no request
pays for what all of them need.
Equal constraints are compiled once; vLLM compiles in threads of its own, beside the engine's loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from constrain.engine.compiled import CompiledConstraint, compile
from constrain.serve.vllm.grammar import RequestGrammar, Rows
from constrain.serve.vllm.options import Options
from constrain.serve.vllm.requests import constraint_of
from constrain.serve.vllm.vocabulary import vocabulary_of

WARM = (
    (
        "json",
        '{"type": "object", "properties": {"a": {"type": ["string", "number"], "minLength": 1}, "b": {"enum": [1]}}}',
    ),
    ("regex", "[a-z]{1,9}"),
    ("grammar", 'start: "a" start "b" | WORD\nWORD: /[a-z]+/'),
)
"""Constraints whose first masks are made at the start."""


class ConstrainBackend:
    """The backend of one engine.

    Args:
        tokenizer: vLLM's tokenizer.
        vocab_size: V, the width of the model's logits.
        options: How constraints are read.
        eos_ids: Further ids that end a text, as the model's configuration says.

    Raises:
        VocabularyError: The tokens have no bytes of their own, or no id ends a text.

    Attributes:
        vocabulary (Vocabulary): The bytes of the tokens.
    """

    def __init__(self, tokenizer: Any, vocab_size: int, options: Options, eos_ids: Iterable[int] = ()) -> None:
        self.options = options
        self.vocabulary = vocabulary_of(tokenizer, vocab_size, eos_ids)
        self._compiled = lru_cache(maxsize=options.cached)(self._compile)
        self._tensor: Any = None
        self._rows: Rows = np.zeros((0, self.vocabulary.words), np.uint32)
        self._warm_up()

    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> RequestGrammar:
        """The grammar of a request.

        Args:
            request_type: vLLM's `StructuredOutputOptions`.
            grammar_spec: What the request says.
            stop_token_ids: The ids that end its text, or None.

        Raises:
            ConstrainError: See `constraint_of`. vLLM has checked requests before, so it fails this request alone.
        """
        return RequestGrammar(self._compiled(request_type.name.lower(), grammar_spec), stop_token_ids or (), self.rows)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """A tensor of masks that allow everything, int32[max_num_seqs, ceil(V / 32)], on the CPU."""
        import torch

        self._tensor = torch.full((max_num_seqs, self.vocabulary.words), -1, dtype=torch.int32)
        self._rows = self._tensor.numpy().view(np.uint32)
        return self._tensor

    def destroy(self) -> None:
        """Forget the compiled constraints."""
        self._compiled.cache_clear()
        self._tensor = None

    def rows(self, bitmask: Any) -> Rows:
        """The words of a tensor, uint32[N, ceil(V / 32)], which it shares."""
        return self._rows if bitmask is self._tensor else bitmask.numpy().view(np.uint32)

    def _compile(self, kind: str, text: str) -> CompiledConstraint:
        return compile(constraint_of(kind, text, self.options), self.vocabulary)

    def _warm_up(self) -> None:
        row = np.zeros(self.vocabulary.words, np.uint32)
        for kind, text in WARM:
            matcher = self._compile(kind, text).matcher()
            for _ in range(4):
                matcher.fill_mask(row)
                allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
                if not len(allowed) or not matcher.advance(int(allowed[0])):
                    break
