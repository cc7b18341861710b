"""One engine: vLLM's `StructuredOutputBackend` over a vocabulary and its compiled constraints.

The idea: all is made ready when the engine starts (requests/compiler.py). vLLM compiles in threads of its own, beside
the engine's loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.request import Rows
from constrain.engines.vllm.grammar import VLLMGrammar


class VLLMBackend(RequestCompiler):
    """The backend of one engine. Arguments, attributes and errors are those of `RequestCompiler`."""

    def __init__(self, tokenizer: Any, vocab_size: int, options: EngineOptions, eos_ids: Iterable[int] = ()) -> None:
        super().__init__(tokenizer, vocab_size, options, eos_ids)
        self._tensor: Any = None
        self._rows: Rows = np.zeros((0, self.vocabulary.words), np.uint32)

    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> VLLMGrammar:
        """The grammar of a request.

        Args:
            request_type: vLLM's `StructuredOutputOptions`.
            grammar_spec: What the request says.
            stop_token_ids: The ids that end its text, or None.

        Raises:
            ConstrainError: See `constraint_of`. vLLM has checked requests before, so it fails this request alone.
        """
        return VLLMGrammar(self.compiled(request_type.name.lower(), grammar_spec), stop_token_ids or (), self.rows)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """A tensor of masks that allow everything, int32[max_num_seqs, ceil(V / 32)], on the CPU."""
        import torch

        self._tensor = torch.full((max_num_seqs, self.vocabulary.words), -1, dtype=torch.int32)
        self._rows = self._tensor.numpy().view(np.uint32)
        return self._tensor

    def destroy(self) -> None:
        """Forget the compiled constraints."""
        self.close()
        self.compiled.results.clear()
        self._tensor = None

    def rows(self, bitmask: Any) -> Rows:
        """The words of a tensor, uint32[N, ceil(V / 32)], which it shares."""
        return self._rows if bitmask is self._tensor else bitmask.numpy().view(np.uint32)
