"""Ways to mask many sequences at once: this library's, llguidance's and xgrammar's, behind one small interface.

compile(schemas)     one sequence a schema
begin()              all sequences from their beginning
fill()               rows, uint32[B, ceil(V / 32)]
advance(ids)         a token each; a list of bool
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from masks import engines
from masks.interface import CompileError, is_set
from masks.vocabularies import BenchVocabulary

Case = tuple[Any, list[int]]  # a schema, and the tokens of a member


class Way:
    """The base of all ways to make a batch of masks."""

    engine = ""
    version = ""

    def __init__(self, name: str, vocabulary: BenchVocabulary, batch: int, threads: int = 1) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.threads = threads
        self.rows = np.zeros((batch, vocabulary.words), np.uint32)
        self.weights = np.random.default_rng(0).integers(0, 2**32, vocabulary.words, dtype=np.uint32) | np.uint32(1)

    def compile(self, schemas: list[Any]) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        raise NotImplementedError

    def fill(self) -> None:
        raise NotImplementedError

    def advance(self, ids: list[int]) -> Sequence[bool]:
        raise NotImplementedError


class Constrain(Way):
    """`fill_masks` and `advance_all`; automata: how many share the constraints; rehearse: as in `constrain.compile`."""

    engine = "constrain"

    def __init__(
        self,
        name: str,
        vocabulary: BenchVocabulary,
        batch: int,
        threads: int = 1,
        automata: int = 1,
        rehearse: bool = False,
    ) -> None:
        import constrain

        super().__init__(name, vocabulary, batch, threads)
        self.version = constrain.__version__
        self.constrain = constrain
        shared = constrain.Vocabulary(vocabulary.tokens, eos_ids=[vocabulary.eos_id])
        self.automata = [constrain.TokenAutomaton(shared) for _ in range(automata)]
        self.shared = shared
        self.rehearse = rehearse

    def compile(self, schemas: list[Any]) -> None:
        self.compiled = [
            self.constrain.compile(
                self.constrain.json_schema(schema),
                self.shared,
                automaton=self.automata[k % len(self.automata)],
                rehearse=self.rehearse,
            )
            for k, schema in enumerate(schemas)
        ]

    def begin(self) -> None:
        self.matchers = [each.matcher() for each in self.compiled]

    def fill(self) -> None:
        self.constrain.fill_masks(self.matchers, self.rows, threads=self.threads)

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return self.constrain.advance_all(self.matchers, ids)  # type: ignore[no-any-return]


class ConstrainSingle(Constrain):
    """A call for each matcher."""

    def fill(self) -> None:
        for matcher, row in zip(self.matchers, self.rows, strict=True):
            matcher.fill_mask(row)

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return [matcher.advance(token) for matcher, token in zip(self.matchers, ids, strict=True)]


class LLGuidance(Way):
    """`LLExecutor`, whose threads share out the matchers."""

    engine = "llguidance"

    def __init__(self, name: str, vocabulary: BenchVocabulary, batch: int, threads: int = 1) -> None:
        import llguidance

        super().__init__(name, vocabulary, batch, threads)
        self.version = llguidance.get_version()
        self.matcher_type = llguidance.LLMatcher
        self.tokenizer = engines.LLGuidance._tokenizer(vocabulary)
        self.executor = llguidance.LLExecutor(num_threads=threads)

    def compile(self, schemas: list[Any]) -> None:
        grammar = self.matcher_type.grammar_from_json_schema
        self.first = [self.matcher_type(self.tokenizer, grammar(schema)) for schema in schemas]

    def begin(self) -> None:
        self.matchers = [each.deep_copy() for each in self.first]
        self.numbered = [(matcher, k) for k, matcher in enumerate(self.matchers)]

    def fill(self) -> None:
        rows = self.rows
        self.executor.unsafe_compute_mask_ptr(self.numbered, rows.ctypes.data, rows[0].nbytes, len(rows))

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return self.executor.consume_token_par(list(zip(self.matchers, ids, strict=True)))  # type: ignore[no-any-return]


class LLGuidanceSingle(LLGuidance):
    """A call for each matcher."""

    def fill(self) -> None:
        for matcher, row in zip(self.matchers, self.rows, strict=True):
            matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return [matcher.consume_token(token) for matcher, token in zip(self.matchers, ids, strict=True)]


class XGrammar(Way):
    """`BatchGrammarMatcher`, whose threads share out the matchers."""

    engine = "xgrammar"

    def __init__(self, name: str, vocabulary: BenchVocabulary, batch: int, threads: int = 1) -> None:
        import xgrammar

        from masks.interface import Settings
        from masks.peers import XGrammar as Single

        super().__init__(name, vocabulary, batch, threads)
        self.single = Single(vocabulary, Settings())
        self.version = self.single.version
        self.bitmask = xgrammar.allocate_token_bitmask(batch, len(vocabulary.tokens))
        self.rows = self.bitmask.numpy().view(np.uint32)
        self.batch_matcher = xgrammar.BatchGrammarMatcher(max_threads=threads)

    def compile(self, schemas: list[Any]) -> None:
        compiler = self.single.compiler
        self.compiled = [compiler.compile_json_schema(json.dumps(schema), strict_mode=False) for schema in schemas]

    def begin(self) -> None:
        self.matchers = [self.single.matcher_type(each) for each in self.compiled]

    def fill(self) -> None:
        self.batch_matcher.batch_fill_next_token_bitmask(self.matchers, self.bitmask)

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return self.batch_matcher.batch_accept_token(self.matchers, ids)  # type: ignore[no-any-return]


class XGrammarSingle(XGrammar):
    """A call for each matcher."""

    def fill(self) -> None:
        for k, matcher in enumerate(self.matchers):
            matcher.fill_next_token_bitmask(self.bitmask, k)

    def advance(self, ids: list[int]) -> Sequence[bool]:
        return [matcher.accept_token(token) for matcher, token in zip(self.matchers, ids, strict=True)]


def _with(kind: type[Way], **more: int) -> Callable[[str, BenchVocabulary, int], Way]:
    return lambda name, vocabulary, batch: kind(name, vocabulary, batch, **more)


WAYS: dict[str, Callable[[str, BenchVocabulary, int], Way]] = {
    "constrain, single": _with(ConstrainSingle),
    "constrain, batch, 1 thread": _with(Constrain),
    "constrain, batch, rehearsed": _with(Constrain, rehearse=True),
    "constrain, batch, 2 threads": _with(Constrain, threads=2),
    "constrain, two automata, 1 thread": _with(Constrain, automata=2),
    "constrain, two automata, 2 threads": _with(Constrain, automata=2, threads=2),
    "llguidance, single": _with(LLGuidanceSingle),
    "llguidance, executor, 1 thread": _with(LLGuidance),
    "llguidance, executor, 2 threads": _with(LLGuidance, threads=2),
    "xgrammar, single": _with(XGrammarSingle),
    "xgrammar, batch, 1 thread": _with(XGrammar),
    "xgrammar, batch, 2 threads": _with(XGrammar, threads=2),
}


def agreed(ways: list[Way], cases: list[Case], enough: int) -> list[Case]:
    """The first so many cases whose tokens every engine among the ways allows, one after the other."""
    judges = [engines.make(name, ways[0].vocabulary) for name in dict.fromkeys(way.engine for way in ways)]
    found: list[Case] = []
    for schema, tokens in cases:
        if len(found) == enough:
            break
        if all(_takes(judge, schema, tokens) for judge in judges):
            found.append((schema, tokens))
    return found


def _takes(engine: Any, schema: Any, tokens: list[int]) -> bool:
    try:
        engine.compile(schema)
    except CompileError:
        return False
    engine.start()
    for token in tokens:
        engine.mask()
        if not is_set(engine.row, token) or not engine.advance(token):
            return False
    return True
