"""The engines by name, and the adapters of this library and of llguidance."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from masks.interface import (
    WARM_UP,
    CompileError,
    Engine,
    Form,
    NoFormError,
    NothingFulfilsError,
    Settings,
    is_set,
)
from masks.vocabularies import BenchVocabulary

SERVED = {  # as users meet this library, masks/served.py
    "served": "Served",
    "served-rehearsed": "ServedRehearsed",
    "served-complete": "ServedComplete",
    "served-whole": "ServedWhole",
}
OURS = ("constrain", "generate", "constrain-canonical", *SERVED)
ENGINE_NAMES = (*OURS, "llguidance", "xgrammar", "xgrammar-dynamic", "outlines-core", "lm-format-enforcer")
FORMS = {"json": "grammar_from_json_schema", "regex": "grammar_from_regex", "lark": "grammar_from_lark"}  # llguidance's
PACKAGES = {**dict.fromkeys(OURS, "constrain-lm"), "xgrammar-dynamic": "xgrammar"}  # not named like the engine


def missing(name: str) -> str | None:
    """None if the engine's package is installed, else what to do. Raises ValueError for a name that is no engine."""
    if name not in ENGINE_NAMES:
        raise ValueError(f"no engine {name}; there are {', '.join(ENGINE_NAMES)}")
    try:
        version(PACKAGES.get(name, name))
    except PackageNotFoundError:
        return f"the package {name} is not installed\n  fix: pip install 'constrain-lm[bench]'"
    return None


def make(name: str, vocabulary: BenchVocabulary, settings: Settings | None = None) -> Engine:
    """An engine by name, over a vocabulary. Other engines are imported only when they are asked for."""
    from masks import peers, served

    kinds: dict[str, Any] = {
        "constrain": Constrain,
        "generate": Generate,
        "constrain-canonical": ConstrainCanonical,
        **{name: getattr(served, kind) for name, kind in SERVED.items()},
        "llguidance": LLGuidance,
        "xgrammar": peers.XGrammar,
        "xgrammar-dynamic": peers.XGrammarDynamic,
        "outlines-core": peers.OutlinesCore,
        "lm-format-enforcer": peers.LMFormatEnforcer,
    }
    return kinds[name](vocabulary, settings or Settings())


def warm_up(engine: Engine, tokens: list[int]) -> None:
    """One small schema and text, so that what an engine loads or compiles once is in no figure."""
    engine.compile(WARM_UP)
    engine.start()
    for token in tokens:
        engine.mask()
        engine.advance(token)


class Constrain:
    """This library."""

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        import constrain

        self.version = version("constrain-lm")
        self.constrain = constrain
        self.settings = settings
        self.vocabulary = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
        self.eos_id = vocabulary.eos_id
        self.row = np.zeros(vocabulary.words, dtype=np.uint32)
        self.automaton: Any = None  # the one that constraints share by default

    def compile(self, schema: Any) -> None:
        try:
            self.constraint = schema.ours() if isinstance(schema, Form) else self.schema_of(schema)
            self.compiled = self.constrain.compile(self.constraint, self.vocabulary, automaton=self.automaton)
        except self.constrain.UnsatisfiableError as error:
            raise NothingFulfilsError(f"{type(error).__name__}: {error}") from None
        except self.constrain.ConstrainError as error:
            raise CompileError(f"{type(error).__name__}: {error}") from None

    def schema_of(self, schema: Any) -> Any:
        return self.constrain.json_schema(
            json.loads(schema) if isinstance(schema, str) else schema,
            spelling=self.settings.spelling,
            property_order="any" if self.settings.any_order else "schema",
            formats=self.settings.formats,
            registry=self.settings.registry,
        )

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
        return self.constraint.residual_fault(text) is None

    def forget(self) -> None:
        self.automaton = self.constrain.TokenAutomaton(self.vocabulary)


class Generate(Constrain):
    """This library as `generate` compiles: schemas closed, forced text as the tokenizer itself writes it."""

    wanted: bool | None = None  # `canonical=` of generate

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
        super().__init__(vocabulary, settings)
        self.tokenizer = vocabulary.hugging_face()

    def schema_of(self, schema: Any) -> Any:
        from constrain.languages.schema.api import declared_only

        return declared_only(json.loads(schema) if isinstance(schema, str) else schema)

    def compile(self, schema: Any) -> None:
        from constrain.masks.derived.wanted_cuts import narrowed

        super().compile(schema)
        (self.compiled,), _ = narrowed([self.compiled], self.wanted, tokenizer=self.tokenizer)


class ConstrainCanonical(Generate):
    """The same, all of the text."""

    wanted = True


class LLGuidance(Engine):
    """guidance-ai/llguidance, through its LLMatcher."""

    def __init__(self, vocabulary: BenchVocabulary, settings: Settings) -> None:
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
        form = schema if isinstance(schema, Form) else Form("json", schema, dict)
        if form.kind == "structural_tag":
            form = Form("lark", self._lark(form.text), dict)
        if form.kind not in FORMS or form.options.get("any_order"):
            raise NoFormError(f"llguidance reads no {form.kind}, and has no such order")
        try:
            grammar = getattr(self.matcher_type, FORMS[form.kind])(form.text)
        except ValueError as error:
            raise CompileError(str(error)) from None
        self.first = self.matcher_type(self.tokenizer, grammar)
        if self.first.is_error():
            message = self.first.get_error()
            raise (NothingFulfilsError if "Unsatisfiable schema" in message else CompileError)(message)

    @staticmethod
    def _lark(tag: Any) -> str:
        """The grammar of a structural tag that is free text with triggered tags."""
        from llguidance import StructTag

        of = tag["format"]
        tags = [
            StructTag(trigger=of["triggers"][0], begin=each["begin"], grammar=schema, end=each["end"])
            for each in of["tags"]
            if (schema := each["content"]["json_schema"])
        ]
        return StructTag.to_grammar(tags, assume_special=False)

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


class _Tokens:
    """The attributes and calls that llguidance's TokenizerWrapper needs of a tokenizer that it does not know."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.eos_token_id = vocabulary.eos_id
        self.bos_token_id = None
        self.tokens = [b"<|special_%d|>" % i if t is None else t for i, t in enumerate(vocabulary.tokens)]
        self.special_token_ids = [i for i, token in enumerate(vocabulary.tokens) if token is None]
        self._encode = vocabulary.encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self._encode(text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text)
