"""One engine: its vocabulary, and the compiled constraints of its requests.

The idea: what is dear is done when the engine starts. The vocabulary is read, the kernels are loaded (where they are
not compiled yet, that takes a minute once), and common constraints are followed (warm.py), so that no request pays for
what many of them need. Equal constraints are compiled once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from constrain.masks.engine.compiled import CompiledConstraint, compile_bytewise
from constrain.masks.engine.followed import refuse_tempered
from constrain.models.serve.requests.constraints import constraint_of, writable
from constrain.models.serve.requests.options import EngineOptions
from constrain.models.serve.requests.recent import Recent
from constrain.models.serve.requests.vocabulary import vocabulary_of
from constrain.models.serve.requests.warm import warm_up


class RequestCompiler:
    """Compiles the constraints of one engine's requests. Threads may share it.

    Args:
        tokenizer: The engine's tokenizer.
        vocab_size: V, the width of the model's logits.
        options: How constraints are read.
        eos_ids: Further ids that end a text, as the model's configuration says.

    Raises:
        VocabularyError: The tokens have no bytes of their own, or no id ends a text.

    Attributes:
        vocabulary (Vocabulary): The bytes of the tokens.
        compiled: (kind, text) → `CompiledConstraint`, as `constraint_of` reads them; the last ones are kept.
    """

    def __init__(self, tokenizer: Any, vocab_size: int, options: EngineOptions, eos_ids: Iterable[int] = ()) -> None:
        self.options = options
        self.vocabulary = vocabulary_of(tokenizer, vocab_size, eos_ids)
        self.compiled = Recent(self._compile, options.cached)
        warm_up(self.vocabulary, options)

    def _compile(self, kind: str, text: str) -> CompiledConstraint:
        constraint = constraint_of(kind, text, self.options)
        compiled = compile_bytewise(writable(constraint, self.vocabulary, self.options), self.vocabulary)
        refuse_tempered(compiled, "the engine")
        return compiled
