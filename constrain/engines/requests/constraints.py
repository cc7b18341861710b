"""The constraint of a request: the kinds of structured outputs as constraints.

The idea: an engine hands over a kind and a text, the same in each process that checks, compiles or drafts. All read it
here, under the limits of the options, and equal texts are read once in a process.

| kind | text |
|---|---|
| json, json_object | a JSON Schema; nothing: any JSON object |
| regex | a pattern in Python's syntax, which the whole text matches |
| choice | a JSON array of strings |
| grammar | Lark, or rules with `::=`: XGrammar's EBNF, else GBNF |
| structural_tag | free text with tags (constrain/chat/tags/structural.py) |
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from constrain.chat.tags.structural import structural_tag
from constrain.engines.requests.options import SCHEMAS, EngineOptions, schema_options
from constrain.errors import ConstrainError, GrammarError, LimitError
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import choices, regex
from constrain.languages.grammar_text.text import grammar
from constrain.languages.schema.api import json_schema, schema_of_json
from constrain.languages.schema.check.finished import integer_of
from constrain.languages.schema.recent import Recent
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import Limits
from constrain.masks.completion.writable import Writable, written

KINDS = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")
LONG, LONGER = 100_000, 4  # characters; 1,000 tools have 300,000, and take 0.3 to 0.7 s
SHOWN = 80  # characters of a request's text in messages
_DECODER = json.JSONDecoder(parse_int=integer_of)
_DEFINES = re.compile(r"^[ \t]*[A-Za-z_][\w.-]*(?:\[[^\]\n]*\])?[ \t]*::=", re.MULTILINE)


def _constraint_of(kind: str, text: str, options: EngineOptions) -> Constraint:
    """The constraint of a request.

    Args:
        kind: One of `KINDS`.
        text: What the request says.
        options: How it is read.

    Returns:
        A constraint, wholly read: compiling it finds no fault of the text.

    Raises:
        ConstrainError: The text is faulty, says nothing that any text fulfils, or exceeds a limit; with its place.
    """
    try:
        with _limits(options, min(1 + len(text) // LONG, LONGER)).reading(f"the {kind} of the request"):
            constraint = _read(kind, text, options)
            if kind not in ("json", "json_object"):  # reading a schema decides all
                constraint.to_grammar()
            return constraint
    except RecursionError:
        raise LimitError(f"the {kind} of the request is nested too deeply", fix="use fewer levels") from None


@lru_cache(maxsize=16)
def _limits(options: EngineOptions, times: int) -> Limits:
    """The limits of reading a request: a longer one may take more time, up to `LONGER` times as much."""
    return Limits(seconds=options.seconds * times, megabytes=options.megabytes)


constraint_of = Recent(_constraint_of, 256)
"""`_constraint_of`, with its last results."""


def writable(constraint: Constraint, vocabulary: Vocabulary, options: EngineOptions) -> Constraint:
    """The part of a constraint that an engine's tokens can write, found under the engine's limits.

    Raises UnsatisfiableError, GrammarError, LimitError.
    """
    if Writable.of(vocabulary).letters is None:  # PERF: nearly all vocabularies
        return constraint
    with Limits(seconds=options.seconds, megabytes=options.megabytes).reading("the constraint of the request"):
        return written(constraint, vocabulary)


def _read(kind: str, text: str, options: EngineOptions) -> Constraint:
    match kind:
        case "json_object":
            return _schema({"type": "object"}, options)
        case "json":
            return _schema(_json(text, "the schema"), options)
        case "regex":
            _check_length(kind, text, options)
            return regex(text)
        case "choice":
            return _choices(text)
        case "grammar":
            _check_length(kind, text, options)
            return _grammar(text, options)
        case "structural_tag":
            given = _json(text, "the structural tag")
            return structural_tag(
                given,
                schema=lambda schema, **changes: _schema(schema, options, **changes),
                check_length=lambda name, inner: _check_length(name, inner, options),
            )
    raise ConstrainError(f"{kind!r} is not a kind of structured outputs", fix=f"use one of {', '.join(KINDS)}")


def _check_length(kind: str, text: str, options: EngineOptions) -> None:
    if len(text) > options.characters:
        raise LimitError(
            f"the {kind} has {len(text):,} characters, more than {options.characters:,}",
            fix="shorten it, or let the engine take more: additional_config.constrain.characters",
        )


def _schema(schema: Any, options: EngineOptions, **changes: Any) -> Constraint:
    settings = schema_options(options)
    if type(schema) is dict and not changes:
        return schema_of_json(schema, settings)
    given = {name: getattr(settings, name) for name in SCHEMAS}
    return json_schema(schema, **{**given, **changes})


def _json(text: str, what: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = text.splitlines()[error.lineno - 1] if text.strip() else ""
        left = max(0, error.colno - 1 - SHOWN // 2)
        place = f"line {error.lineno}, column {error.colno}"
        raise ConstrainError(
            f"{what} is not JSON: {error.msg}",
            place=f"{place}\n{line[left : left + SHOWN]}\n{' ' * (error.colno - 1 - left)}^",
            fix="send JSON text",
        ) from None


def _choices(text: str) -> Constraint:
    options = _json(text, "the list of choices")
    if not isinstance(options, list):
        raise ConstrainError(
            f"choices are a list, not {type(options).__name__}", place=text[:SHOWN], fix='["yes", "no"]'
        )
    return choices(options)


def _grammar(text: str, options: EngineOptions) -> Constraint:
    if not _DEFINES.search(text):
        return grammar(text, format="lark", lexer=options.lexer)
    try:
        return grammar(text, format="ebnf")
    except GrammarError as as_ebnf:
        try:
            return grammar(text, format="gbnf")
        except GrammarError:
            raise as_ebnf from None
