"""Make a language model's output obey a JSON Schema, a regex or a context-free grammar: always, fast, and faithfully.

    >>> import constrain
    >>> vocabulary = constrain.Vocabulary([b"t", b"tr", b"ue", b"rue", b"fa", b"lse", b"x", None], eos_ids=[7])
    >>> matcher = constrain.compile(constrain.json_schema({"type": "boolean"}), vocabulary).matcher()
    >>> [token for token in range(8) if matcher.allows(token)]
    [0, 1, 4]
    >>> matcher.advance(1), matcher.forced_bytes(), matcher.is_accepting()
    (True, b'ue', False)

Everything public is here, and loaded when first used; torch only for `generate`, `apply_bitmask_` and what lies behind
them.
"""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constrain import monitors as monitors
    from constrain import sampling as sampling
    from constrain import speculative as speculative
    from constrain.chat import calls as calls
    from constrain.chat import streaming as streaming
    from constrain.chat import tags as tags
    from constrain.chat.calls.tools import tools
    from constrain.errors import (
        ConstrainError,
        GrammarError,
        LimitError,
        MissingExtraError,
        RegexError,
        SchemaError,
        UnsatisfiableError,
        VocabularyError,
    )
    from constrain.generation import (
        AsyncStream,
        Conversation,
        Generation,
        Generations,
        Stats,
        Stream,
        agenerate,
        astream,
        converse,
        generate,
        infill,
    )
    from constrain.generation import answers as answers
    from constrain.generation.answers.documents import map
    from constrain.generation.answers.score import score
    from constrain.generation.answers.trace import trace
    from constrain.languages import collection as collection
    from constrain.languages import schema as schema
    from constrain.languages.cfg.layout import Layout
    from constrain.languages.constraints.base import Constraint
    from constrain.languages.constraints.combinators import alt, many, optional, ref, rules, seq, token
    from constrain.languages.constraints.regular import choices, regex
    from constrain.languages.constraints.substring import substring
    from constrain.languages.grammar_text.text import grammar
    from constrain.languages.schema import Limits, json_schema
    from constrain.languages.vocab.vocabulary import Vocabulary
    from constrain.masks.completion.compiling import compile
    from constrain.masks.derived.between import between
    from constrain.masks.derived.reasoning import after
    from constrain.masks.derived.triggered import triggered
    from constrain.masks.engine import (
        CompiledConstraint,
        Matcher,
        TokenAutomaton,
        advance_all,
        fill_draft_masks,
        fill_masks,
    )
    from constrain.models import hf as hf
    from constrain.models import reference as reference
    from constrain.papers import composed as composed
    from constrain.papers import diffusion as diffusion
    from constrain.sampling import processors as processors
    from constrain.sampling.bitmask.apply import apply_bitmask_

__version__ = "0.1.0"
logging.getLogger(__name__).addHandler(logging.NullHandler())  # who wants messages configures logging

if (Path(__file__).parent / "api" / "verification_library.py").exists():
    raise ImportError(
        "another project's package `constrain` (building controls) lies in the same folder as constrain-lm: "
        f"{Path(__file__).parent}\n  fix: pip uninstall constrain constrain-lm; pip install constrain-lm"
    )

from constrain.packages import PACKAGES, install

install()

__all__ = [
    "AsyncStream",
    "CompiledConstraint",
    "ConstrainError",
    "Constraint",
    "Conversation",
    "Generation",
    "Generations",
    "GrammarError",
    "Layout",
    "LimitError",
    "Limits",
    "Matcher",
    "MissingExtraError",
    "RegexError",
    "SchemaError",
    "Stats",
    "Stream",
    "TokenAutomaton",
    "UnsatisfiableError",
    "Vocabulary",
    "VocabularyError",
    "advance_all",
    "after",
    "agenerate",
    "alt",
    "apply_bitmask_",
    "astream",
    "between",
    "choices",
    "compile",
    "converse",
    "fill_draft_masks",
    "fill_masks",
    "generate",
    "grammar",
    "infill",
    "json_schema",
    "many",
    "map",
    "optional",
    "ref",
    "regex",
    "rules",
    "score",
    "seq",
    "substring",
    "token",
    "tools",
    "trace",
    "triggered",
]

_HOMES = {
    "AsyncStream": "constrain.generation",
    "CompiledConstraint": "constrain.masks.engine",
    "ConstrainError": "constrain.errors",
    "Constraint": "constrain.languages.constraints.base",
    "Conversation": "constrain.generation",
    "Generation": "constrain.generation",
    "Generations": "constrain.generation",
    "GrammarError": "constrain.errors",
    "Layout": "constrain.languages.cfg.layout",
    "LimitError": "constrain.errors",
    "Limits": "constrain.schema",
    "Matcher": "constrain.masks.engine",
    "MissingExtraError": "constrain.errors",
    "RegexError": "constrain.errors",
    "SchemaError": "constrain.errors",
    "Stats": "constrain.generation",
    "Stream": "constrain.generation",
    "TokenAutomaton": "constrain.masks.engine",
    "UnsatisfiableError": "constrain.errors",
    "Vocabulary": "constrain.languages.vocab.vocabulary",
    "VocabularyError": "constrain.errors",
    "advance_all": "constrain.masks.engine",
    "after": "constrain.masks.derived.reasoning",
    "agenerate": "constrain.generation",
    "alt": "constrain.languages.constraints.combinators",
    "apply_bitmask_": "constrain.sampling.bitmask.apply",
    "astream": "constrain.generation",
    "between": "constrain.masks.derived.between",
    "choices": "constrain.languages.constraints.regular",
    "compile": "constrain.masks.completion.compiling",
    "converse": "constrain.generation",
    "fill_draft_masks": "constrain.masks.engine",
    "fill_masks": "constrain.masks.engine",
    "generate": "constrain.generation",
    "grammar": "constrain.languages.grammar_text.text",
    "infill": "constrain.generation",
    "json_schema": "constrain.schema",
    "many": "constrain.languages.constraints.combinators",
    "map": "constrain.generation.answers.documents",
    "optional": "constrain.languages.constraints.combinators",
    "ref": "constrain.languages.constraints.combinators",
    "regex": "constrain.languages.constraints.regular",
    "rules": "constrain.languages.constraints.combinators",
    "score": "constrain.generation.answers.score",
    "seq": "constrain.languages.constraints.combinators",
    "substring": "constrain.languages.constraints.substring",
    "token": "constrain.languages.constraints.combinators",
    "tools": "constrain.chat.calls.tools",
    "trace": "constrain.generation.answers.trace",
    "triggered": "constrain.masks.derived.triggered",
}
_ROOMS = (*PACKAGES, "monitors", "papers", "sampling", "speculative")

if not TYPE_CHECKING:  # a checker that sees __getattr__ takes every misspelt name for granted

    def __getattr__(name: str) -> object:
        """Load a public name, or a room, when it is first used."""
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        if name in _ROOMS:
            return import_module(f"constrain.{name}")
        raise AttributeError(f"module 'constrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS])
