"""Schemas none of whose strings, as they are written, contain some texts, at any depth, as a schema.

The idea: "no string in it, and no name of a property, is written with one of these texts" is a schema of its own, which
refers to itself. The conjunction of both is what is asked for; that it is fulfilled is decided like any other
(schema/normalize), so `const` and `enum` lose the values that contain one, and lengths and patterns stay exact.

A text can be part of the spelling of a value that does not contain it: `"\\n<"` is written with `n<`. So it is read as
a piece of a string literal: the end of one character's escape, whole characters, the beginning of another's. Each
reading is a pattern of values.

Limit: plain spellings are meant (automata/lower.py). One value has several only where a character is not ASCII, which
may be written as a number; any four hex digits are taken for that of any such character, so `"e1"`, which may be a part
of `\\u00e1`, also leaves out `"\\u00df"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from constrain.languages.automata.lower import PLAIN_ESCAPES

_NAME = "(strings without excluded texts)"


def without_texts(schema: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    """The schema, and no string or property name in a value is written with one of the texts."""
    itself = {"$ref": f"#/$defs/{_NAME}"}
    patterns = sorted(set(chain.from_iterable(map(written_with, texts))))
    clean: dict[str, Any] = {"items": itself, "additionalProperties": itself}
    if patterns:
        pattern = {"not": {"type": "string", "pattern": "|".join(patterns)}}
        clean |= {**pattern, "propertyNames": pattern}
    stated = {
        key: schema[key] for key in ("$schema", "$defs", "definitions") if isinstance(schema, dict) and key in schema
    }
    definitions = {**stated.pop("$defs", {}), _NAME: clean}
    return {**stated, "allOf": [schema, itself], "$defs": definitions}


class _Escape(NamedTuple):
    """A way to write characters.

    Attributes:
        characters: A pattern of the characters that are written so.
        written: What it is written with: the possible characters at each position.
    """

    characters: str
    written: tuple[str, ...]

    def holds(self, text: str, start: int) -> bool:
        """True if a text stands in it from a position on, as far as both go."""
        return all(c in any_of for c, any_of in zip(text, self.written[start:], strict=False))


_HEX = "0123456789abcdefABCDEF"
_NUMBER = ("\\", "u", _HEX, _HEX, _HEX, _HEX)
_NUMBERED = [*range(0x20), 0x7F]
_ESCAPES = [
    *(_Escape(f"\\u{c:04x}", ("\\", letter)) for c, letter in PLAIN_ESCAPES.items()),
    *(_Escape(f"\\u{c:04x}", ("\\", "u", *(d + d.upper() for d in f"{c:04x}"))) for c in _NUMBERED),
    _Escape(r"[^\u0000-\u007f]", _NUMBER),
    _Escape(r"[^\u0000-\uffff]", _NUMBER * 2),  # a surrogate pair
]


def written_with(text: str) -> Iterator[str]:
    """Patterns of the values whose plain spelling as a JSON string contains a text; some may come twice."""
    yield from _from(text)
    for escape in _ESCAPES:
        for start in range(1, len(escape.written)):
            if escape.holds(text, start):
                rest = text[len(escape.written) - start :]
                yield from (escape.characters + after for after in _from(rest)) if rest else (escape.characters,)


def _from(text: str) -> Iterator[str]:
    """Patterns of the values that are written so from the beginning of a character on."""
    if not text:
        yield ""
    elif text[0] == "\\":
        for escape in _ESCAPES:
            if escape.holds(text, 0):
                yield from (escape.characters + after for after in _from(text[len(escape.written) :]))
    elif text[0] != '"' and text[0] >= " ":  # these two are always escaped
        yield from (_quoted(text[0]) + after for after in _from(text[1:]))


def _quoted(character: str) -> str:
    """The character as a pattern of ECMA-262."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", character)
