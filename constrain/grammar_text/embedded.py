"""The meaning of `%json` and `%regex` in grammar texts.

    %json {...}                               texts of a JSON Schema; the options are `json_schema`'s defaults
    %regex {"substring_words": "..."}         any span of whole words of a text; also substring_chars, and
    %regex {"substring_chunks": ["..."]}      spans of a list; these are `constrain.substring`, and may be empty
    %regex {"pattern": "..."}                 a Python regex, as `constrain.regex` reads it

`READERS` is passed to the reader of Lark texts, which finds the directives (cfg/readers/embedded.py).
"""

from __future__ import annotations

import json
from typing import Any

from constrain.cfg.ebnf import Expression
from constrain.cfg.readers.embedded import Readers
from constrain.constraints.combinators import optional
from constrain.constraints.parts import part
from constrain.constraints.regular import regex
from constrain.constraints.substring import substring
from constrain.errors import GrammarError

_SUBSTRINGS = {"substring_words": "word", "substring_chars": "char", "substring_chunks": "chunk"}


def _json(text: str) -> Expression:
    """The expression of `%json`."""
    from constrain.schema import json_schema  # loads referencing; few grammar texts embed a schema

    return part(json_schema(text))


def _regex(text: str) -> Expression:
    """The expression of `%regex`."""
    value: Any = json.loads(text)
    if not isinstance(value, dict) or len(value) != 1 or not (value.keys() & {"pattern", *_SUBSTRINGS}):
        known = ", ".join(["pattern", *_SUBSTRINGS])
        raise GrammarError(f"%regex needs an object with one of {known}", fix='write %regex {"pattern": "..."}')
    [(name, argument)] = value.items()
    if name == "pattern":
        return part(regex(argument))
    return part(optional(substring(argument, _SUBSTRINGS[name])))  # type: ignore[arg-type]


READERS: Readers = {"json": _json, "regex": _regex}
