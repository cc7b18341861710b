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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constrain.cfg.layout import Layout
    from constrain.constraints.base import Constraint
    from constrain.constraints.combinators import alt, many, optional, ref, rules, seq
    from constrain.constraints.regular import choices, regex
    from constrain.constraints.substring import substring
    from constrain.derived.between import between
    from constrain.derived.triggered import after, triggered
    from constrain.engine import CompiledConstraint, Matcher, TokenAutomaton, advance_all, compile, fill_masks
    from constrain.errors import (
        ConstrainError,
        GrammarError,
        LimitError,
        RegexError,
        SchemaError,
        UnsatisfiableError,
        VocabularyError,
    )
    from constrain.generation import generate
    from constrain.grammar_text.text import grammar
    from constrain.sampling.bitmask.apply import apply_bitmask_
    from constrain.schema import Limits, json_schema
    from constrain.vocab.vocabulary import Vocabulary

__version__ = "0.1.0"

_HOMES = {
    "Limits": "constrain.schema",
    "CompiledConstraint": "constrain.engine",
    "ConstrainError": "constrain.errors",
    "GrammarError": "constrain.errors",
    "Layout": "constrain.cfg.layout",
    "LimitError": "constrain.errors",
    "Matcher": "constrain.engine",
    "RegexError": "constrain.errors",
    "SchemaError": "constrain.errors",
    "Constraint": "constrain.constraints.base",
    "TokenAutomaton": "constrain.engine",
    "UnsatisfiableError": "constrain.errors",
    "Vocabulary": "constrain.vocab.vocabulary",
    "VocabularyError": "constrain.errors",
    "advance_all": "constrain.engine",
    "after": "constrain.derived.triggered",
    "between": "constrain.derived.between",
    "alt": "constrain.constraints.combinators",
    "apply_bitmask_": "constrain.sampling.bitmask.apply",
    "choices": "constrain.constraints.regular",
    "compile": "constrain.engine",
    "fill_masks": "constrain.engine",
    "generate": "constrain.generation",
    "grammar": "constrain.grammar_text.text",
    "json_schema": "constrain.schema",
    "many": "constrain.constraints.combinators",
    "optional": "constrain.constraints.combinators",
    "ref": "constrain.constraints.combinators",
    "regex": "constrain.constraints.regular",
    "triggered": "constrain.derived.triggered",
    "rules": "constrain.constraints.combinators",
    "seq": "constrain.constraints.combinators",
    "substring": "constrain.constraints.substring",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in ("collection", "hf", "reference", "sampling"):
        return import_module(f"constrain.{name}")
    raise AttributeError(f"module 'constrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
