"""Masks of other libraries in the loop of `generate`: the same model, prompts, limits and choice of tokens.

Objects are closed in all of them: XGrammar and outlines-core close by default, llguidance gets the closed schema. Texts
to choose from are a regex. SQL is the subset of `queries.lark` and `queries.ebnf`, in the dialect of each library.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import numpy as np

from constrain.generation.handles import Handle
from masks.engines import LLGuidance
from masks.interface import CompileError, Settings
from masks.peers import OutlinesCore, XGrammar
from masks.vocabularies import BenchVocabulary
from tasks.sql import QUERIES
from tasks.task import ChoiceTask, JsonTask, Task


def wanted_of(task: Task) -> tuple[str, Any] | None:
    """(kind of constraint, constraint) of a task: "schema", "regex", or "grammar", which is that of SQL.

    None: the libraries have nothing for it.
    """
    if isinstance(task, JsonTask):
        return "schema", task.closed
    if isinstance(task, ChoiceTask):
        return "regex", "|".join(map(re.escape, task.choices))
    return ("grammar", None) if task.form == "sql" else None


class XGrammarByDefault(XGrammar):
    """XGrammar by its defaults."""

    def compile(self, schema: Any) -> None:
        kind, wanted = schema
        made = {
            "schema": lambda: self.compiler.compile_json_schema(json.dumps(wanted)),
            "regex": lambda: self.compiler.compile_regex(wanted),
            "grammar": lambda: self.compiler.compile_grammar(QUERIES["ebnf"]),
        }
        self.compiled = made[kind]()


class LLGuidanceOfKinds(LLGuidance):
    """llguidance by its defaults."""

    def compile(self, schema: Any) -> None:
        kind, wanted = schema
        made = {
            "schema": lambda: self.matcher_type.grammar_from_json_schema(wanted),
            "regex": lambda: self.matcher_type.grammar_from_regex(wanted),
            "grammar": lambda: self.matcher_type.grammar_from_lark(QUERIES["lark"]),
        }
        self.first = self.matcher_type(self.tokenizer, made[kind]())
        if self.first.is_error():
            raise CompileError(self.first.get_error())


class OutlinesCoreOfKinds(OutlinesCore):
    """outlines-core by its defaults; it reads no grammars."""

    def compile(self, schema: Any) -> None:
        kind, wanted = schema
        if kind == "grammar":
            raise CompileError("outlines-core reads no grammars")
        try:
            pattern = self.to_regex(json.dumps(wanted)) if kind == "schema" else wanted
            self.index = self.outlines.Index(pattern, self.vocabulary)
        except (ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise CompileError(str(error)) from None


KINDS = {"xgrammar": XGrammarByDefault, "llguidance": LLGuidanceOfKinds, "outlines-core": OutlinesCoreOfKinds}


class Peer(NamedTuple):
    """An engine over the vocabulary of a model; `constraint` is one for `generate`."""

    engine: Any
    vocabulary: Any

    @classmethod
    def of(cls, name: str, handle: Handle) -> Peer:
        """The engine of a name. Raises ImportError: it is not installed."""
        known = handle.vocabulary

        def encode(text: str) -> list[int]:
            return list(handle.tokenizer(text, add_special_tokens=False)["input_ids"])

        vocabulary = BenchVocabulary("", known.tokens, known.eos_ids[0], encode)
        return cls(KINDS[name](vocabulary, Settings()), known)

    def constraint(self, task: Task) -> PeerMask | None:
        """The constraint of a task; None: there is none. Raises CompileError, or what the library raises."""
        wanted = wanted_of(task)
        if wanted is None:
            return None
        self.engine.compile(wanted)
        return PeerMask(self.engine, self.vocabulary)


class PeerMask:
    """A constraint of another library, as `generate` takes one: a matcher that fills masks."""

    def __init__(self, engine: Any, vocabulary: Any) -> None:
        self.engine, self.vocabulary, self.ended = engine, vocabulary, False

    def matcher(self) -> PeerMask:
        self.engine.start()
        self.ended = False
        return self

    fork = matcher  # only a matcher at the beginning is forked

    def fill_mask(self, row: np.ndarray) -> None:
        self.engine.mask()
        row.view(np.uint32)[:] = 0
        row.view(np.uint32)[: len(self.engine.row)] = self.engine.row

    def advance(self, token: int) -> bool:
        self.ended = token in self.vocabulary.eos_ids
        return self.ended or bool(self.engine.advance(token))

    def forced_tokens(self) -> list[int]:
        return []

    def is_finished(self) -> bool:
        return self.ended

    def is_accepting(self) -> bool:
        return self.ended or bool(self.engine.at_end())
