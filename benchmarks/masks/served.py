"""This library as its users meet it: through the compiler of an engine's requests, and as `generate` does.

Everything is what the defaults give: schemas are closed where they declare something, properties come in their order,
forced texts are cut as the tokenizer cuts them. `ServedWhole` is asked for verdicts only: all that a schema allows.
"""

from __future__ import annotations

import json
import logging
import time
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from masks.interface import CompileError, Form, NothingFulfilsError, Settings, is_set
from masks.vocabularies import BenchVocabulary

TOKENS = 4_096  # of a request under `complete`


class Served:
    """`RequestCompiler` and `RequestMatcher`, as vLLM and SGLang use them; the rehearsal beside the loop left out."""

    options: ClassVar[dict[str, Any]] = {"rehearse": 0}

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        from constrain import errors
        from constrain.engines.requests.compiler import RequestCompiler
        from constrain.engines.requests.options import EngineOptions
        from constrain.engines.requests.request import RequestMatcher

        self.version = version("constrain-lm")
        self.errors, self.request = errors, RequestMatcher
        self.compiler = RequestCompiler(
            vocabulary.hugging_face(), len(vocabulary.tokens), EngineOptions(**self.options), [vocabulary.eos_id]
        )
        self.eos_id = vocabulary.eos_id
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)
        self.logger = logging.getLogger("served")

    def compile(self, schema: Any) -> None:
        kind, given = (schema.kind, schema.text) if isinstance(schema, Form) else ("json", schema)
        try:
            self.compiled = self.compiler.compiled(kind, given if isinstance(given, str) else json.dumps(given))
        except self.errors.UnsatisfiableError as error:
            raise NothingFulfilsError(f"{type(error).__name__}: {error}") from None
        except self.errors.ConstrainError as error:
            raise CompileError(f"{type(error).__name__}: {error}") from None

    def start(self) -> None:
        self.matcher = self.request(self.compiled, (), self.logger)

    def mask(self) -> None:
        self.matcher.fill(self.row)
        if self.matcher.fault:
            raise RuntimeError(self.matcher.fault)

    def advance(self, token: int) -> bool:
        return self.matcher.read(token)

    def at_end(self) -> bool:
        self.mask()
        accepting = self.matcher.matcher.is_accepting()
        if accepting != is_set(self.row, self.eos_id):
            raise RuntimeError("the end-of-text bit and is_accepting() disagree")
        return accepting

    def check(self, text: str) -> bool:
        return self.compiled.constraint.residual_fault(text) is None

    def forget(self) -> None:
        self.compiler.compiled.results.clear()


class ServedRehearsed(Served):
    """The same with its rehearsal, which is over before the first mask: at best, while the model reads the prompt."""

    options: ClassVar[dict[str, Any]] = {}
    rehearsal_us = 0.0  # CPU time of the last one

    def _wait(self) -> int:
        """Wait for the thread beside the loop. Returns its CPU time in ns."""
        return self.compiler._beside.submit(time.thread_time_ns).result()

    def start(self) -> None:
        self._wait()
        super().start()

    def compile(self, schema: Any) -> None:
        before = self._wait()
        super().compile(schema)
        self.rehearsal_us = (self._wait() - before) / 1000


class ServedComplete(Served):
    """The same, each text ended within its limit of tokens."""

    def start(self) -> None:
        super().start()
        self.matcher.end_in_time(lambda: TOKENS)


class ServedWhole(Served):
    """All that a schema allows, in any order of keys."""

    options: ClassVar[dict[str, Any]] = {"rehearse": 0, "undeclared": "allow", "property_order": "any"}
