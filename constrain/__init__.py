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

__version__ = "0.1.0"
logging.getLogger(__name__).addHandler(logging.NullHandler())  # who wants messages configures logging

if (Path(__file__).parent / "api" / "verification_library.py").exists():
    raise ImportError(
        "another project's package `constrain` (building controls) lies in the same folder as constrain-lm: "
        f"{Path(__file__).parent}\n  fix: pip uninstall constrain constrain-lm; pip install constrain-lm"
    )

from constrain.packages import PACKAGES, install

install()

# The public names by module; __init__.pyi says the same to type checkers.
_NAMES = {
    "constrain.generation.answers.documents": "map",
    "constrain.generation.answers.score": "score",
    "constrain.generation.answers.trace": "trace",
    "constrain.chat.calls.tools": "tools",
    "constrain.chat.describe": "describe",
    "constrain.languages.cfg.layout": "Layout",
    "constrain.masks.completion.compiling": "compile",
    "constrain.languages.constraints.base": "Constraint",
    "constrain.languages.constraints.combinators": "alt many optional ref rules seq token",
    "constrain.languages.constraints.escaped": "json_string",
    "constrain.languages.constraints.regular": "choices regex",
    "constrain.languages.constraints.substring": "substring",
    "constrain.masks.derived.between": "between",
    "constrain.masks.derived.reasoning": "after",
    "constrain.masks.derived.triggered": "triggered",
    "constrain.masks.engine": "CompiledConstraint Matcher TokenAutomaton advance_all fill_draft_masks fill_masks",
    "constrain.errors": (
        "ConstrainError GrammarError IncompleteError LimitError MissingExtraError RegexError SchemaError "
        "UnsatisfiableError VocabularyError"
    ),
    "constrain.generation": (
        "AsyncStream Conversation Generation Generations Length Prompt Stats Stream agenerate astream "
        "converse generate infill progress"
    ),
    "constrain.languages.grammar_text.text": "grammar",
    "constrain.sampling.bitmask.apply": "apply_bitmask_",
    "constrain.languages.schema": "Limits json_schema",
    "constrain.languages.vocab.vocabulary": "Vocabulary",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = (*PACKAGES, "monitors", "papers", "sampling", "speculative")
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Load a public name, or a package, when it is first used."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"constrain.{name}")
    raise AttributeError(f"module 'constrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_PACKAGES])
