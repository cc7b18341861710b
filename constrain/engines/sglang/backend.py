"""One server: SGLang's `BaseGrammarBackend` over a vocabulary and its compiled constraints.

The idea: all is made ready when the server starts (requests/compiler.py). SGLang compiles in threads of its own, beside
its scheduler. A faulty constraint is its `InvalidGrammarObject`, which becomes an HTTP 400 with our message.

SGLang lets its own backends wait for the end of thoughts, and leaves that to others. `create` does as SGLang does: with
a reasoning parser, the backend goes into SGLang's `ReasonerGrammarBackend`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, GrammarStats, InvalidGrammarObject
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.runtime_context import get_serving

from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.options import EngineOptions
from constrain.engines.sglang import trees
from constrain.engines.sglang.grammar import SGLangGrammar, logger
from constrain.engines.sglang.options import options_in
from constrain.errors import ConstrainError

ANY = "$$ANY$$"  # SGLang's word for a schema that allows any JSON


class SGLangBackend(BaseGrammarBackend):
    """The backend of one server. Arguments and errors are those of `RequestCompiler`.

    Attributes:
        compiler (RequestCompiler): The vocabulary and the compiled constraints.
    """

    allocate_vocab_mask = staticmethod(SGLangGrammar.allocate_vocab_mask)  # what thoughts ask a backend for
    move_vocab_mask = staticmethod(SGLangGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(SGLangGrammar.apply_vocab_mask)

    def __init__(self, tokenizer: Any, vocab_size: int, options: EngineOptions, eos_ids: Iterable[int] = ()) -> None:
        super().__init__()
        self.compiler = RequestCompiler(tokenizer, vocab_size, options, eos_ids)

    def dispatch_json(self, key_string: str) -> Any:
        """The grammar of a JSON Schema."""
        return self._grammar("json", "true" if key_string == ANY else key_string, "json")

    def dispatch_regex(self, key_string: str) -> Any:
        """The grammar of a pattern in Python's syntax, which the whole text matches."""
        return self._grammar("regex", key_string, "regex")

    def dispatch_ebnf(self, key_string: str) -> Any:
        """The grammar of a grammar: XGrammar's EBNF or GBNF where rules have `::=`, else Lark."""
        return self._grammar("grammar", key_string, "ebnf")

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """The grammar of free text with tags."""
        return self._grammar("structural_tag", key_string, "structural_tag")

    def dispatch_fallback(self, key_type: str, key_string: str) -> Any:
        """The answer to a kind of constraint that SGLang does not know."""
        return InvalidGrammarObject(f"{key_type!r} is not a kind of constraint")

    def set_cache(self, key: Any, value: Any) -> None:
        """Keep a grammar for equal requests; the oldest goes."""
        super().set_cache(key, value)
        while len(self.cache) > self.compiler.options.cached:
            self.cache.pop(next(iter(self.cache)))

    def reset(self) -> None:
        """Forget the compiled constraints."""
        super().reset()
        self.compiler.compiled.results.clear()

    def _grammar(self, kind: str, text: str, name: str) -> Any:
        try:
            return SGLangGrammar(self.compiler.compiled(kind, text), GrammarStats(dispatch_type=name))
        except ConstrainError as error:
            return InvalidGrammarObject(f"{type(error).__name__}: {error}")
        except Exception as error:
            logger.exception("constrain: a constraint was not read by a fault of the backend; please report it")
            return InvalidGrammarObject(f"a fault of the backend constrain: {error!r}")


def create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None) -> Any:
    """The backend of a server, made where it starts. SGLang calls it through the registry, which checks its interface.

    Raises:
        ConstrainError: An option is wrong, an argument is not supported, or the vocabulary is not fit. Then the server
            does not start.
    """
    serving = get_serving()
    options = options_in(os.environ, serving)
    backend = SGLangBackend(tokenizer, vocab_size, options, eos_token_ids or ())
    trees.install()
    logger.info("constrain: ready for structured outputs over %d tokens; cuts: %s", vocab_size, backend.compiler.cuts)
    if not serving.reasoning_parser:
        return backend
    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    return ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=False)
