"""Adapters: one small interface over the engines that are measured.

    compile(schema)      what a request pays first; raises CompileError
    start()              begin an instance
    mask()               fill `row`, uint32[ceil(V / 32)], low bit first, 1 = allowed
    advance(token)       False where the engine refuses
    at_end()             after the last token: does the engine let the text end here?
    check(text)          what the engine does with a finished text before it returns it; False where it is thrown away

An adapter does what the engine's documentation tells a server to do, with the engine's defaults.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from masks.vocabularies import BenchVocabulary

WARM_UP = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 9},
        "b": {"type": "array", "items": {"type": "number", "minimum": 0}},
    },
    "required": ["a"],
}


class CompileError(Exception):
    """The engine refused the schema; the message is the engine's."""


class Constrain:
    """This library."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import constrain

        self.version = version("constrain")
        self.constrain = constrain
        self.vocabulary = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
        self.eos_id = vocabulary.eos_id
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)

    def compile(self, schema: Any) -> None:
        try:
            self.source = self.constrain.json_schema(schema)
            self.compiled = self.constrain.compile(self.source, self.vocabulary)
        except self.constrain.ConstrainError as error:
            raise CompileError(f"{type(error).__name__}: {error}") from None

    def start(self) -> None:
        self.matcher = self.compiled.matcher()

    def mask(self) -> None:
        self.matcher.fill_mask(self.row)

    def advance(self, token: int) -> bool:
        return self.matcher.advance(token)

    def at_end(self) -> bool:
        self.mask()
        accepting = self.matcher.is_accepting()
        if accepting != is_set(self.row, self.eos_id):
            raise RuntimeError("the end-of-text bit and is_accepting() disagree")
        return accepting

    def check(self, text: str) -> bool:
        return self.source.check(text) is None


class LLGuidance:
    """guidance-ai/llguidance, through its LLMatcher."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import llguidance

        self.version = version("llguidance")
        self.matcher_type = llguidance.LLMatcher
        self.tokenizer = self._tokenizer(vocabulary)
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)

    @staticmethod
    def _tokenizer(vocabulary: BenchVocabulary) -> Any:
        import llguidance
        from llguidance.tiktoken import lltokenizer_from_encoding

        size = len(vocabulary.tokens)
        if vocabulary.encoding is not None:
            return lltokenizer_from_encoding(vocabulary.encoding, n_vocab=size, eos_token=[vocabulary.eos_id])
        return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Tokens(vocabulary)), n_vocab=size)

    def compile(self, schema: Any) -> None:
        try:
            grammar = self.matcher_type.grammar_from_json_schema(schema)
        except ValueError as error:
            raise CompileError(str(error)) from None
        self.first = self.matcher_type(self.tokenizer, grammar)
        if self.first.is_error():
            raise CompileError(self.first.get_error())

    def start(self) -> None:
        self.matcher = self.first.deep_copy()

    def mask(self) -> None:
        self.matcher.unsafe_compute_mask_ptr(self.row.ctypes.data, self.row.nbytes)
        if self.matcher.is_error():
            raise RuntimeError(self.matcher.get_error())

    def advance(self, token: int) -> bool:
        return self.matcher.consume_token(token)

    def at_end(self) -> bool:
        return self.matcher.is_accepting()

    def check(self, text: str) -> bool:
        return True


class _Tokens:
    """What llguidance's TokenizerWrapper asks of a tokenizer that it does not know."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.eos_token_id = vocabulary.eos_id
        self.bos_token_id = None
        self.tokens = [b"<|special_%d|>" % i if t is None else t for i, t in enumerate(vocabulary.tokens)]
        self.special_token_ids = [i for i, token in enumerate(vocabulary.tokens) if token is None]
        self._encode = vocabulary.encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self._encode(text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text)


ENGINES: dict[str, type] = {"constrain": Constrain, "llguidance": LLGuidance}


def is_set(row: np.ndarray, token: int) -> bool:
    """Is the bit of this token set? row: uint32[W]."""
    return bool(int(row[token >> 5]) >> (token & 31) & 1)
