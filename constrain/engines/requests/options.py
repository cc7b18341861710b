"""Options: how an engine reads the constraints of its requests.

This module imports no kernels: every process of an engine reads the options, and workers need nothing else.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from constrain.errors import ConstrainError

if TYPE_CHECKING:
    from constrain.languages.schema.read.document import ReadOptions

_NUMBERS = ("seconds", "megabytes", "characters", "cached", "rehearse", "images")
_WHOLE = ("characters", "cached", "rehearse", "images")
_OR_NONE = ("rehearse", "images")
MOST = 10**9
SCHEMAS = ("spelling", "whitespace", "property_order", "undeclared", "formats")
_SWITCHES = {"canonical": "true, false or null", "complete": "true or false", "keep_served": "true or false"}


@dataclass(frozen=True)
class EngineOptions:
    """A backend's options of reading constraints.

    Attributes:
        seconds: The CPU time that reading one constraint may take, and as much again for each 100,000 characters, at
            most four times in all; vLLM's front end serves nothing else meanwhile.
        megabytes: The memory in MB that it may take.
        characters: The length that a pattern or a grammar may have. Reading one takes 10 to 40 µs a character.
        cached: The number of compiled constraints that are kept, of 4 million characters at most.
        spelling, whitespace, property_order, formats: As in `constrain.json_schema`, which refuses other values.
        undeclared: As there; by default objects and arrays have what they declare, where the schema says nothing else.
        lexer: As in `constrain.grammar`, for grammars in Lark's format.
        canonical: Where only tokens count that the tokenizer itself would write. null: where the text is forced, if the
            tokenizer is understood; true: everywhere, or the engine does not start; false: nowhere.
        rehearse: The tokens of a likely text of a new schema whose masks are made beside the engine's loop, before the
            request asks for them; 0: none.
        images: The megabytes of files with masks of constraints that are kept for the next start (images.py); 0: none
            is read or written.
        keep_served: Texts that were served go into these files, which their owner alone can read; else what `constrain
            warmup` wrote is there.
        complete: A token is allowed only if the text can still be ended within the request's limit of tokens.
    """

    seconds: float = 0.5
    megabytes: float = 512.0
    characters: int = 20_000
    cached: int = 256
    spelling: Any = "plain"
    whitespace: Any = None
    property_order: Any = "schema"
    undeclared: Any = "avoid"
    formats: Any = "assert"
    lexer: Any = "dynamic"
    canonical: bool | None = None
    complete: bool = False
    rehearse: int = 40
    images: int = 64
    keep_served: bool = False


def options_of(given: Any, place: str) -> EngineOptions:
    """Options from an object. place: where it was given. Raises ConstrainError naming what is wrong."""
    if not isinstance(given, dict):
        raise ConstrainError(
            f"the options are not an object: {given!r:.60}", place=place, fix="use {} for the defaults"
        )
    names = [field.name for field in dataclasses.fields(EngineOptions)]
    for name, value in given.items():
        if name not in names:
            raise ConstrainError(f"there is no option {name!r}", place=place, fix=f"use {', '.join(names)}")
        if name in _NUMBERS:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            is_whole = name not in _WHOLE or (is_number and float(min(value, MOST)).is_integer())
            if not is_number or not is_whole or not 0 <= value <= MOST or (value == 0 and name not in _OR_NONE):
                kind = "whole number" if name in _WHOLE and is_number and 0 <= value <= MOST else "number"
                least = "of 0 or more" if name in _OR_NONE else "above 0"
                bound = f", {MOST:,} at most" if is_number and value > MOST else ""
                raise ConstrainError(f"{name} is a {kind} {least}{bound}, not {value!r:.60}", place=f"{place}.{name}")
        if name in _SWITCHES:
            if not isinstance(value, bool) and not (name == "canonical" and value is None):
                raise ConstrainError(f"{name} is {_SWITCHES[name]}, not {value!r}", place=f"{place}.{name}")
        elif name not in _NUMBERS and not isinstance(value, (str, type(None))):
            raise ConstrainError(f"{name} is a text, not {value!r}", place=f"{place}.{name}")
    options = EngineOptions(**{**given, **{name: int(given[name]) for name in _WHOLE if name in given}})
    if any(name in given for name in (*SCHEMAS, "lexer")):
        _check_names(options, place)
    if given.get("canonical") and given.get("complete"):
        raise ConstrainError(
            "canonical and complete exclude each other: which tokens end a text in time is counted over all cuts",
            place=place,
            fix="leave one of them out",
        )
    return options


def _check_names(options: EngineOptions, place: str) -> None:
    """Raise ConstrainError for a name that no request could be read with. Loads what reads schemas."""
    from constrain.languages.cfg.rules import Lexer
    from constrain.languages.schema.api import check_option

    try:
        schema_options(options)
        if options.lexer is not None:
            check_option(options.lexer, get_args(Lexer), "lexer")
    except ConstrainError as error:
        raise ConstrainError(error.message, place=place, fix=error.fix) from None


@lru_cache(maxsize=8)
def schema_options(options: EngineOptions) -> ReadOptions:
    """The options of schemas, checked. Raises ConstrainError."""
    from constrain.languages.schema.api import read_options

    return read_options(*[getattr(options, name) for name in SCHEMAS])
