"""The arguments of `generate`, checked: each fault is named before a model is loaded."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from typing import Any

from constrain.errors import ConstrainError, VocabularyError
from constrain.generation.handles import Handle
from constrain.languages.constraints.base import Constraint
from constrain.sampling.core.job import Compiled, Settings
from constrain.sampling.core.sampler import check_count, traits_of
from constrain.sampling.core.shape import refuse_greedy

# Vocabularies that were found to spell tokens as a model's own does.
_alike: weakref.WeakKeyDictionary[Any, weakref.WeakSet[Any]] = weakref.WeakKeyDictionary()
CONSTRAINTS = ("schema", "regex", "grammar", "choices", "type", "constraint", "response_format")


def check_settings(max_tokens: Any, temperature: Any, top_k: Any, top_p: Any) -> Settings:
    """Settings, or ConstrainError naming the argument and its value."""
    check_count("max_tokens", max_tokens)
    if not _is_number(temperature) or not 0 <= temperature <= sys.float_info.max:
        raise ConstrainError(
            f"temperature must be a finite number of at least 0, not {temperature!r}", fix="0 is greedy, 1 the model"
        )
    if top_k is not None:
        check_count("top_k", top_k, fix="leave it out to keep all tokens")
    if top_p is not None and not (_is_number(top_p) and 0 < top_p <= 1):
        raise ConstrainError(
            f"top_p must be a number above 0 and at most 1, not {top_p!r}", fix="leave it out to keep all tokens"
        )
    return Settings(max_tokens, float(temperature), top_k, None if top_p is None else float(top_p))


def check_request(n: Any, seed: Any, stream: Any) -> None:
    """The arguments that say how often and how; ConstrainError naming the argument and its value."""
    if not isinstance(stream, bool):
        raise ConstrainError(f"stream must be True or False, not {stream!r}")
    check_count("n", n)
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise ConstrainError(f"seed must be an int or None, not {seed!r}")
    if stream and n != 1:
        raise ConstrainError(
            f"stream=True gives one output, not n={n}", fix="call generate n times, or leave stream out"
        )


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse what cannot turn texts into token ids. Raises ConstrainError."""
    if tokenizer is None or (not isinstance(tokenizer, str) and (callable(tokenizer) or hasattr(tokenizer, "encode"))):
        return
    raise ConstrainError(
        f"tokenizer must be a tokenizer, not {tokenizer!r:.60}",
        fix="pass transformers.AutoTokenizer.from_pretrained(name), or leave it out",
    )


def check_method(method: Any, settings: Settings) -> None:
    """Refuse settings that a method cannot serve. Raises ConstrainError."""
    if traits_of(method).needs_chance:
        refuse_greedy(settings)


def check_language(constraint: Any, limited: bool) -> None:
    """Make the grammar of a constraint, which shows whether it has a text. Raises what `to_grammar` raises.

    limited: lengths are kept by the masks, which needs a constraint of this library. Raises ConstrainError for others.
    """
    if constraint is None:
        return
    if isinstance(constraint, Constraint):
        constraint.to_grammar()
    elif limited:
        from constrain.masks.engine import CompiledConstraint

        if not isinstance(constraint, CompiledConstraint):
            raise ConstrainError(
                "complete and at_least need a constraint of this library", fix="pass what constrain.compile returned"
            )


def the_constraint(given: Mapping[str, Any]) -> Any:
    """The constraint, or compiled constraint, that one of `CONSTRAINTS` describes; None if none is given, or tools are.

    Raises ConstrainError when several are given, and what the constraint's own reader raises.
    """
    named = [name for name in given if given[name] is not None]
    if len(named) > 1:
        raise ConstrainError(
            f"generate takes one constraint, not {len(named)}: {', '.join(named)}",
            fix="combine constraints with & or |, and pass the result as constraint=",
        )
    if not named:
        return None
    value = given[named[0]]
    match named[0]:
        case "regex":
            from constrain.languages.constraints.regular import regex

            return regex(value)
        case "grammar":
            from constrain.languages.grammar_text.text import as_generated

            return as_generated(value)
        case "choices":
            from constrain.languages.constraints.regular import choices

            return choices(value)
        case "constraint":
            return _checked(value)
        case "tools":  # their format depends on the model
            return None
        case "response_format":
            from constrain.generation.request.openai_shapes import constraint_of_format

            return constraint_of_format(value)
        case _:  # schema, type
            from constrain.languages.schema.api import declared_only

            return declared_only(value)


def _checked(value: Any) -> Any:
    if not isinstance(value, (Constraint, Compiled)):
        raise ConstrainError(
            f"constraint is {type(value).__name__}, neither a constraint nor a compiled constraint",
            fix="pass a dict as schema=, a pattern as regex=, or what constrain.compile(...) returned as constraint=",
        )
    return value


def check_switch(name: str, value: Any) -> None:
    """Refuse what is neither None nor a bool. Raises ConstrainError."""
    if value is not None and not isinstance(value, bool):
        raise ConstrainError(f"{name} must be True, False or None, not {value!r}", place=name)


def compile_for(constraint: Any, handle: Handle) -> Any:
    """The compiled constraint for a model.

    Raises ConstrainError: compiled for another vocabulary; UnsatisfiableError: the model's tokens can write no text of
    it.
    """
    if isinstance(constraint, Constraint):
        from constrain.masks.completion.compiling import compile as compile_constraint

        return compile_constraint(constraint, handle.vocabulary)
    size = constraint.vocabulary.size
    if size > handle.width:
        raise ConstrainError(
            f"the model gives {handle.width} logits for a vocabulary of {size} tokens",
            fix="compile the constraint for a Vocabulary of the model's own tokenizer",
        )
    _check_same_tokens(constraint.vocabulary, handle)
    return constraint


def _check_same_tokens(vocabulary: Any, handle: Handle) -> None:
    """Refuse a constraint whose tokens spell something else than the model's."""
    try:
        own = handle.vocabulary
    except VocabularyError:  # a tokenizer that only the given vocabulary knows how to read
        return
    if own is vocabulary or vocabulary in _alike.get(own, ()):
        return
    if own.tokens[: vocabulary.size] == vocabulary.tokens:
        _alike.setdefault(own, weakref.WeakSet()).add(vocabulary)  # PERF: 10 ms and more for 262,144 tokens, each call
        return
    for token_id, (theirs, ours) in enumerate(zip(vocabulary.tokens, own.tokens, strict=False)):
        if theirs is not None and ours is not None and theirs != ours:
            raise ConstrainError(
                "the constraint is compiled for the vocabulary of another model",
                place=f"token id {token_id}: {theirs!r} in the constraint, {ours!r} in the model",
                fix="compile it for Vocabulary.from_huggingface(tokenizer) of this model",
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
