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

from constrain.grammar.embedded import register as _register

if TYPE_CHECKING:
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
    from constrain.grammar.combine import alt, many, optional, ref, rules, seq
    from constrain.grammar.layout import Layout
    from constrain.grammar.source import Source, choices, grammar, regex
    from constrain.grammar.substring import substring
    from constrain.guided.between import between
    from constrain.guided.triggered import after, triggered
    from constrain.sampling.apply import apply_bitmask_
    from constrain.schema import Budget, json_schema
    from constrain.vocab.vocabulary import Vocabulary

__version__ = "0.1.0"

_HOMES = {
    "Budget": "constrain.schema",
    "CompiledConstraint": "constrain.engine",
    "ConstrainError": "constrain.errors",
    "GrammarError": "constrain.errors",
    "Layout": "constrain.grammar.layout",
    "LimitError": "constrain.errors",
    "Matcher": "constrain.engine",
    "RegexError": "constrain.errors",
    "SchemaError": "constrain.errors",
    "Source": "constrain.grammar.source",
    "TokenAutomaton": "constrain.engine",
    "UnsatisfiableError": "constrain.errors",
    "Vocabulary": "constrain.vocab.vocabulary",
    "VocabularyError": "constrain.errors",
    "advance_all": "constrain.engine",
    "after": "constrain.guided.triggered",
    "between": "constrain.guided.between",
    "alt": "constrain.grammar.combine",
    "apply_bitmask_": "constrain.sampling.apply",
    "choices": "constrain.grammar.source",
    "compile": "constrain.engine",
    "fill_masks": "constrain.engine",
    "generate": "constrain.generation",
    "grammar": "constrain.grammar.source",
    "json_schema": "constrain.schema",
    "many": "constrain.grammar.combine",
    "optional": "constrain.grammar.combine",
    "ref": "constrain.grammar.combine",
    "regex": "constrain.grammar.source",
    "triggered": "constrain.guided.triggered",
    "rules": "constrain.grammar.combine",
    "seq": "constrain.grammar.combine",
    "substring": "constrain.grammar.substring",
}

__all__ = sorted(_HOMES)

# Importing a room binds its name here, once. The room `grammar` has the name of a function: bound and removed now, it
# is found by imports (they ask sys.modules), and the name is the function's (`__getattr__`).
del globals()["grammar"]


def _embedded_schema(text: str) -> Any:
    """What `%json {...}` in a grammar text stands for; the room of grammars does not know the room of schemas."""
    return import_module("constrain.schema").json_schema(text)


_register("json", _embedded_schema)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in ("grammars", "hf", "reference", "sampling"):
        return import_module(f"constrain.{name}")
    raise AttributeError(f"module 'constrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
