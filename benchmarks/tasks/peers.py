"""Masks of other libraries in the loop of `generate`: the same model, prompts, limits and choice of tokens.

Objects are closed in all of them: XGrammar and outlines-core close by default, llguidance gets the closed schema. Texts
to choose from are a regex. SQL is the subset of `queries.lark` and `queries.ebnf`, in the dialect of each library.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from constrain.generation.handles import Handle
from masks.engines import make
from masks.interface import Form
from masks.peers import XGrammar
from masks.vocabularies import BenchVocabulary
from tasks.sql import QUERIES
from tasks.task import ChoiceTask, JsonTask, Task

ENGINES = ("xgrammar", "llguidance", "outlines-core")


def form_of(task: Task) -> Form | None:
    """The constraint of a task by a library's defaults, with SQL in its dialect; None: the libraries have nothing."""
    if isinstance(task, JsonTask):
        return Form("json", task.closed, dict)
    if isinstance(task, ChoiceTask):
        return Form("regex", "|".join(map(re.escape, task.choices)), dict)
    return Form("lark", QUERIES["lark"], dict) if task.form == "sql" else None


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
        return cls(make(name, vocabulary), known)

    def constraint(self, task: Task) -> PeerMask | None:
        """The constraint of a task; None: there is none. Raises CompileError, or what the library raises."""
        form = form_of(task)
        if form is None:
            return None
        if form.kind == "lark" and isinstance(self.engine, XGrammar):
            form = Form("ebnf", QUERIES["ebnf"], dict)
        self.engine.compile(form)
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
