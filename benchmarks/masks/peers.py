"""Adapters of xgrammar, outlines-core and lm-format-enforcer; each package is imported when its adapter is made.

Where an engine's default is not what a schema says, or not one thread, the adapter chooses otherwise, and says so.
"""

from __future__ import annotations

import json
import logging
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from masks.interface import CompileError, Engine, Form, NoFormError, NothingFulfilsError, Settings
from masks.vocabularies import BenchVocabulary


class XGrammar(Engine):
    """mlc-ai/xgrammar, through its GrammarCompiler and GrammarMatcher.

    Not its defaults: `strict_mode=False`, since `True` closes objects that the schema leaves open; one thread of
    eight; a cache of 512 MB (vLLM's choice) instead of an unbounded one. `any_order` gives up on required keys and
    on keys that repeat, as its documentation says.
    """

    compiling: ClassVar[dict[str, bool]] = {}  # options of its compiler

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        import xgrammar

        self.version = version("xgrammar")
        self.settings = settings
        self.eos_id = vocabulary.eos_id
        size = len(vocabulary.tokens)
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in vocabulary.tokens],  # a token without bytes is special to it
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=size,
            stop_token_ids=[vocabulary.eos_id],
        )
        self.matcher_type = xgrammar.GrammarMatcher
        self.compiler = xgrammar.GrammarCompiler(
            info, max_threads=1, cache_limit_bytes=512 * 1024 * 1024, **self.compiling
        )
        self.bitmask = xgrammar.allocate_token_bitmask(1, size)
        self.row = self.bitmask.numpy()[0].view(np.uint32)

    def compile(self, schema: Any) -> None:
        try:
            self.compiled = self._grammar(schema)
        except (RuntimeError, ValueError, TypeError) as error:
            message = str(error).partition("] ")[2] or str(error)  # without the time and the place in its source
            raise (NothingFulfilsError if "cannot accept any value" in message else CompileError)(message) from None

    def _grammar(self, schema: Any) -> Any:
        match schema:
            case Form("json", text, _, options):
                return self.compiler.compile_json_schema(json.dumps(text), **options)
            case Form("structural_tag", tag):
                return self.compiler.compile_structural_tag(json.dumps(tag))
            case Form("regex", text):
                return self.compiler.compile_regex(text)
            case Form("lark", text):  # a dialect of its own
                return self.compiler.compile_lark(text)
            case Form(_, text):
                return self.compiler.compile_grammar(text)
        options = {"strict_mode": False, "any_order": self.settings.any_order}
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self.compiler.compile_json_schema(text, **options)

    def start(self) -> None:
        self.matcher = self.matcher_type(self.compiled)

    def mask(self) -> None:
        if not self.matcher.fill_next_token_bitmask(self.bitmask):
            self.bitmask.fill_(-1)  # all tokens: it says so instead of writing

    def advance(self, token: int) -> bool:
        return self.matcher.accept_token(token)

    def forget(self) -> None:
        self.compiler.clear_cache()


class XGrammarDynamic(XGrammar):
    """The same, masks made when they are asked for first."""

    compiling: ClassVar[dict[str, bool]] = {"enable_dynamic_compilation": True}


class OutlinesCore(Engine):
    """dottxt-ai/outlines-core: schema to regex, regex to an index over the whole vocabulary, a Guide through it."""

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        self.version = version("outlines-core")
        self.outlines = outlines_core
        self.to_regex = build_regex_from_schema
        ids: dict[bytes, list[int]] = {}
        for i, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(i)
        self.vocabulary = outlines_core.Vocabulary(vocabulary.eos_id, ids)
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)

    def compile(self, schema: Any) -> None:
        form = schema if isinstance(schema, Form) else Form("json", schema, dict)
        if form.kind not in ("json", "regex"):
            raise NoFormError("outlines-core reads no grammars")
        try:
            pattern = self.to_regex(json.dumps(form.text)) if form.kind == "json" else form.text
            self.index = self.outlines.Index(pattern, self.vocabulary)
        except (ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise CompileError(str(error)) from None

    def start(self) -> None:
        self.guide = self.outlines.Guide(self.index)

    def mask(self) -> None:
        self.guide.write_mask_into(self.row.ctypes.data, self.row.size, self.row.itemsize)

    def advance(self, token: int) -> bool:
        try:
            self.guide.advance(token, return_tokens=False)
        except ValueError:
            return False
        return True

    def at_end(self) -> bool:
        return self.guide.is_finished()


class LMFormatEnforcer(Engine):
    """noamgat/lm-format-enforcer: a character-level parser in Python, asked for the tokens after a whole sequence.

    `mask` is where the last token is read too: the engine has no other verb. Its TokenEnforcer is shared by the
    instances of a schema, as its documentation means it. Beyond its alphabet of ASCII characters it takes those of
    the vocabulary's one-character tokens.
    """

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        import lmformatenforcer
        from lmformatenforcer.tokenenforcer import TokenEnforcerTokenizerData

        self.version = version("lm-format-enforcer")
        self.lmfe = lmformatenforcer
        self.tokens = [token or b"" for token in vocabulary.tokens]
        regular = [(i, t.decode(errors="replace"), False) for i, t in enumerate(vocabulary.tokens) if t is not None]
        self.data = TokenEnforcerTokenizerData(
            regular, self._decode, vocabulary.eos_id, use_bitmask=True, vocab_size=len(vocabulary.tokens)
        )
        self.eos_id = vocabulary.eos_id
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)

    def _decode(self, ids: list[int]) -> str:
        """Text of tokens, without the character that is not whole yet, as its own integrations decode."""
        return b"".join(self.tokens[i] for i in ids).decode(errors="replace").rstrip("\ufffd")

    def compile(self, schema: Any) -> None:
        try:
            parser = self.lmfe.JsonSchemaParser(schema)
            self.enforcer = self.lmfe.TokenEnforcer(self.data, parser)
        except Exception as error:  # it has no error of its own: whatever pydantic and its code raise
            raise CompileError(f"{type(error).__name__}: {error}") from None

    def start(self) -> None:
        self.sequence: list[int] = []

    def mask(self) -> None:
        disabled = logging.root.manager.disable
        logging.disable(logging.ERROR)  # it logs a traceback for every state that it cannot go on from
        try:
            allowed = self.enforcer.get_allowed_tokens(self.sequence)
        finally:
            logging.disable(disabled)
        self.row[:] = allowed.allowed_tokens.numpy().view(np.uint32)

    def advance(self, token: int) -> bool:
        self.sequence.append(token)
        return True
